// Which engine serves a kind of job best on this target: a short race between those that can do it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/engine/io_engine.h"

namespace fleetmark::agent {

struct EngineChoice {
  std::unique_ptr<IoEngine> engine;
  std::string evidence;  // "io_uring 238468/s, threads 190317/s"
};

// Runs the reading twin of `job` (same file, block, depth, pattern) on every candidate, twice, for about 60 ms each.
// The preferred engine (io_uring above depth 1, plain calls at depth 1) keeps its place unless another is at least 10 %
// faster. One that is unavailable is left out. Errors: Cancelled; Unavailable if none can do it; an I/O error.
absl::StatusOr<EngineChoice> ChooseEngine(const IoJob& job, const std::function<bool()>& cancelled);

}  // namespace fleetmark::agent
