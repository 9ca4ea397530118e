// Which `--set` belongs to which entry of a suite, checked against descriptors. Private to collector/scheduler.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/parameters/parameters.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark::collector {

// Workload -> parameter -> text, as asked for on the command line.
using AskedParameters = std::map<std::string, std::map<std::string, std::string>>;

// "disk.profile.size" names its workload; a bare "size" is taken where exactly one workload of the suite has it.
// INVALID_ARGUMENT names the nearest parameter, or the workloads a bare name could mean.
absl::StatusOr<AskedParameters> AssignParameters(const std::map<std::string, std::string>& asked,
                                                 const v1::Suite& suite,
                                                 const std::vector<v1::WorkloadDescriptor>& workloads);

// The entry's own parameters, then the asked ones, parsed and checked by this descriptor; defaults filled in.
absl::StatusOr<ParameterMap> ParametersOf(const v1::SuiteEntry& entry, const AskedParameters& asked,
                                          const v1::WorkloadDescriptor& workload);

// The descriptor an entry means: its version, or the newest there is; nullptr if there is none.
const v1::WorkloadDescriptor* FindWorkload(const std::vector<v1::WorkloadDescriptor>& workloads,
                                           const std::string& name, uint32_t version);

}  // namespace fleetmark::collector
