// Cores and sockets of the CPUs that are online, from sysfs or, where it is silent, from cpuinfo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/platform/linux/cpuinfo.h"

namespace fleetmark::agent {

struct Topology {
  std::optional<unsigned> present;
  std::optional<unsigned> online;
  std::optional<unsigned> cores;  // absent: the sources contradict each other
  std::optional<unsigned> sockets;
  std::string cores_note;   // why cores is absent or only estimated
  unsigned fast_cores = 0;  // of a hybrid x86: P and E cores; both 0 elsewhere
  unsigned slow_cores = 0;
};

Topology ReadTopology(const std::string& root, const std::vector<CpuinfoEntry>& entries);

}  // namespace fleetmark::agent
