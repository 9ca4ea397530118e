#include "agent/workloads/workload.h"

namespace fleetmark::agent {

const std::vector<WorkloadEntry>& WorkloadTable() {
  static const auto* table = new std::vector<WorkloadEntry>{};
  return *table;
}

absl::StatusOr<const WorkloadEntry*> FindWorkload(const std::string& name, uint32_t version) {
  return FindWorkload(WorkloadTable(), name, version);
}

}  // namespace fleetmark::agent
