// Which target a disk workload uses on a host. Private to collector/scheduler.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/scheduler/run_builder.h"

namespace fleetmark::collector {

struct ChosenTarget {
  std::string name;
  std::string problem;  // not empty: cannot be used, and why; the task is skipped with it
};

// The targets of `host` that `choices` name, else its default. Never empty: what is missing is said in `problem`.
std::vector<ChosenTarget> ChooseTargets(const v1::Host& host, const std::vector<v1::TargetChoice>& choices);

// NOT_FOUND: a choice names a host that is not part of the run, or a target that host (or, for a bare one, any host)
// does not have; names the nearest.
absl::Status CheckTargets(const std::vector<v1::TargetChoice>& choices, const std::vector<HostToRun>& hosts);

}  // namespace fleetmark::collector
