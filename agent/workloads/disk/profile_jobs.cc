#include "agent/workloads/disk/profile_jobs.h"

namespace fleetmark::agent {

const std::vector<ProfileJob>& ProfileJobs() {
  static const auto* jobs = new std::vector<ProfileJob>{
      {"seq1m_q8t1", 1u << 20, 8, 1, AccessPattern::kSequential, false},
      {"seq1m_q1t1", 1u << 20, 1, 1, AccessPattern::kSequential, false},
      {"rnd4k_q32t1", 4096, 32, 1, AccessPattern::kRandom, false},
      {"rnd4k_q1t1", 4096, 1, 1, AccessPattern::kRandom, false},
      {"seq128k_q32t1", 128u << 10, 32, 1, AccessPattern::kSequential, true},
      {"rnd4k_q32t16", 4096, 32, 16, AccessPattern::kRandom, true},
  };
  return *jobs;
}

// Reads first: a write job must not leave its traces in front of them.
const std::vector<ProfileOperation>& ProfileOperations() {
  static const auto* operations = new std::vector<ProfileOperation>{{"read", 1.0}, {"write", 0.0}, {"mix", 0.7}};
  return *operations;
}

bool Selects(const std::string& choice, const ProfileOperation& operation) {
  const std::string name = operation.name;
  if (choice == "all") return true;
  if (choice == "readwrite") return name != "mix";
  return choice == name;
}

}  // namespace fleetmark::agent
