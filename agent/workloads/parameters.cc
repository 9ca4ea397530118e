#include "common/parameters/parameters.h"

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

absl::StatusOr<std::map<std::string, v1::ParameterValue>> ResolveParameters(
    const v1::WorkloadDescriptor& descriptor, const std::map<std::string, v1::ParameterValue>& given) {
  return fleetmark::ResolveParameters(descriptor, given);
}

}  // namespace fleetmark::agent
