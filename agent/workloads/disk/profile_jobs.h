// The jobs of disk.profile, as CrystalDiskMark and KDiskMark define them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/engine/io_job.h"

namespace fleetmark::agent {

struct ProfileJob {
  const char* name;  // "seq1m_q8t1"
  uint32_t block_bytes;
  unsigned depth;
  unsigned threads;
  AccessPattern pattern;
  bool nvme_only;  // only with preset=nvme
};
const std::vector<ProfileJob>& ProfileJobs();

struct ProfileOperation {
  const char* name;  // "read", "write", "mix"
  double read_fraction;
};
const std::vector<ProfileOperation>& ProfileOperations();

// The operations that a value of the parameter `operations` selects.
bool Selects(const std::string& choice, const ProfileOperation& operation);

}  // namespace fleetmark::agent
