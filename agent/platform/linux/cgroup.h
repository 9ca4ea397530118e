// What the control groups of this process allow, v1 and v2, at every level from its own group to the root. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fleetmark::agent {

// CPUs, may be a fraction; absent: no limit. "-1" (v1) and "max" (v2) are no limit.
std::optional<double> ReadCpuQuota(const std::string& root);

// CPUs of the cpuset; absent: not readable.
std::optional<std::vector<int>> ReadCpuset(const std::string& root);

struct MemoryLimit {
  uint64_t limit_bytes = 0;  // the smallest of all levels
  uint64_t left_bytes = 0;   // the smallest rest of all levels; file pages that can be dropped count as free
};
std::optional<MemoryLimit> ReadMemoryLimit(const std::string& root);

// Time this process's group was stopped by its quota, since the group was made. Absent: no such counter.
std::optional<double> ReadThrottledNs(const std::string& root);

}  // namespace fleetmark::agent
