// RunWatched: a long piece of work on a thread of its own, while the calling thread looks for a cancel and reports
// progress. So the work itself, which may be timed, calls nobody.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "agent/workloads/workload.h"

namespace fleetmark::agent {

// What worker and watcher share.
struct Watched {
  std::atomic<bool> stop{false};   // set by the watcher
  std::atomic<uint64_t> bytes{0};  // done so far, set by the worker
};

// A stretch of the bar: `from`..`to` of the whole call, for `total_bytes`.
struct Step {
  std::string name;
  double from = 0;
  double to = 1;
  uint64_t total_bytes = 0;
};

// Runs `body` to its end and returns its status; Cancelled if the context was cancelled meanwhile.
absl::Status RunWatched(WorkContext& context, const Step& step, const std::function<absl::Status(Watched&)>& body);

}  // namespace fleetmark::agent
