#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "agent/platform/linux/cgroup.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/machine.h"

namespace fleetmark::agent {
namespace {

constexpr int kMostCpus = 1 << 14;

std::vector<int> AffinityMask() {
  std::vector<int> cpus;
  cpu_set_t* set = CPU_ALLOC(kMostCpus);
  if (set == nullptr) return cpus;
  const size_t size = CPU_ALLOC_SIZE(kMostCpus);
  CPU_ZERO_S(size, set);
  if (sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

std::vector<int> AllowedByStatus(const std::string& root) {
  constexpr std::string_view kName = "Cpus_allowed_list:";
  const std::string text = ReadText(root + "/proc/self/status").value_or("");
  for (const std::string_view line : SplitLines(text)) {
    if (line.substr(0, kName.size()) == kName) return ParseCpuList(line.substr(kName.size()));
  }
  return {};
}

void KeepOnly(std::vector<int>& cpus, const std::vector<int>& allowed) {
  if (allowed.empty()) return;
  std::vector<int> both;
  std::set_intersection(cpus.begin(), cpus.end(), allowed.begin(), allowed.end(), std::back_inserter(both));
  if (!both.empty()) cpus = std::move(both);
}

}  // namespace

unsigned UsableCpus::threads() const {
  const double by_quota = quota > 0 ? std::ceil(quota - 1e-9) : static_cast<double>(cpus.size());
  const double least = std::min(static_cast<double>(cpus.size()), by_quota);
  return least >= 1 ? static_cast<unsigned>(least) : 1;
}

UsableCpus ReadUsableCpus(const std::string& root) {
  UsableCpus usable;
  const std::vector<int> online = ParseCpuList(ReadText(root + "/sys/devices/system/cpu/online").value_or(""));
  usable.cpus = root.empty() ? AffinityMask() : AllowedByStatus(root);
  if (usable.cpus.empty()) usable.cpus = online;
  // The list in /proc/self/status names CPUs that are offline; the mask of the system call does not.
  KeepOnly(usable.cpus, online);
  KeepOnly(usable.cpus, ReadCpuset(root).value_or(std::vector<int>{}));
  if (usable.cpus.empty()) {
    const long count = root.empty() ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    for (int cpu = 0; cpu < count; ++cpu) usable.cpus.push_back(cpu);
  }
  const double count = static_cast<double>(usable.cpus.size());
  usable.quota = std::min(count, ReadCpuQuota(root).value_or(count));
  return usable;
}

}  // namespace fleetmark::agent
