// The one table of everything this agent can measure.
#include "agent/workloads/disk/disk_dd.h"
#include "agent/workloads/disk/disk_profile.h"
#include "agent/workloads/host/host_clock.h"
#include "agent/workloads/memory/memory_stream.h"
#include "agent/workloads/workload.h"

namespace fleetmark::agent {

const std::vector<WorkloadEntry>& WorkloadTable() {
  static const auto* table = new std::vector<WorkloadEntry>{
      DiskDdEntry(),
      DiskProfileEntry(),
      MemoryStreamEntry(),
      HostClockEntry(),
  };
  return *table;
}

absl::StatusOr<const WorkloadEntry*> FindWorkload(const std::string& name, uint32_t version) {
  return FindWorkload(WorkloadTable(), name, version);
}

}  // namespace fleetmark::agent
