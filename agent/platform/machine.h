// Facts about CPU and memory that workloads and the inventory need. Pure readers under a root directory ("" = this
// machine); every fact may be absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleetmark/v1/inventory.pb.h"

namespace fleetmark::agent {

// CPUs this process may use: affinity mask and cgroup quota, v1 and v2 (C-017). `cpus` lists the mask.
struct UsableCpus {
  std::vector<int> cpus;
  double quota = 0;          // CPUs; may be a fraction; = cpus.size() without a limit
  unsigned threads() const;  // min(mask, ceil(quota)), at least 1
};
UsableCpus ReadUsableCpus(const std::string& root = "");

// Last-level cache by the rule in linux/cache.h: the highest level the machine reports; implausible claims replaced by
// 64 MiB.
struct LastLevelCache {
  uint64_t bytes = 64ull << 20;
  std::string source;  // "sysfs", "sysconf", "implausible", "unknown"
};
LastLevelCache ReadLastLevelCache(const std::string& root = "");

// min(MemAvailable, what the cgroup leaves); nullopt if unknown.
std::optional<uint64_t> ReadAvailableMemory(const std::string& root = "");

// Memory nodes that are online; 1 where the machine does not say.
unsigned ReadMemoryNodes(const std::string& root = "");

v1::OperatingSystem ReadOperatingSystem(const std::string& root, std::vector<v1::UnreadFact>& unread);
v1::Processor ReadProcessor(const std::string& root, std::vector<v1::UnreadFact>& unread);
v1::Memory ReadMemory(const std::string& root, std::vector<v1::UnreadFact>& unread);
std::string ReadBootId(const std::string& root = "");  // random per boot
std::string ReadHostName();                            // clean UTF-8
std::string DetectVirtualization(const std::string& root = "");

}  // namespace fleetmark::agent
