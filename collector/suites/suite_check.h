// Reading and checking a suite file. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark::collector {

// INVALID_ARGUMENT with "file:line:column: reason" for what is not a suite, and with the entry and the nearest name for
// a workload, version or parameter that none of `workloads` has. Without any descriptor (no agent has connected yet)
// only the form is checked.
absl::StatusOr<v1::Suite> ParseSuite(const std::string& text, const std::string& file_name,
                                     const std::vector<v1::WorkloadDescriptor>& workloads);

}  // namespace fleetmark::collector
