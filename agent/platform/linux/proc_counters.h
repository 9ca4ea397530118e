// CPU counters that several readers share. Any thread.
#pragma once

#include <optional>
#include <string>

namespace fleetmark::agent {

// User + system of this process and its ended children.
double ProcessCpuSeconds();

// The first line of /proc/stat, in seconds since boot over all CPUs.
struct HostCpu {
  double busy_seconds = 0;  // without idle, iowait and steal
  double idle_seconds = 0;  // idle and iowait
  double steal_seconds = 0;
};
std::optional<HostCpu> ReadHostCpu(const std::string& root);

}  // namespace fleetmark::agent
