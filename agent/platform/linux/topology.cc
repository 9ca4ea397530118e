#include "agent/platform/linux/topology.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/platform/linux/sysfs.h"

namespace fleetmark::agent {
namespace {

constexpr char kCpus[] = "/sys/devices/system/cpu";

std::string TopologyDirectory(const std::string& root, int cpu) {
  return root + kCpus + "/cpu" + std::to_string(cpu) + "/topology";
}

std::optional<std::string> CoreSiblings(const std::string& root, int cpu) {
  const std::string directory = TopologyDirectory(root, cpu);
  const std::optional<std::string> list = ReadTrimmed(directory + "/core_cpus_list");  // the newer name
  return list ? list : ReadTrimmed(directory + "/thread_siblings_list");
}

// Distinct groups of threads that share a core; absent unless every CPU tells.
std::optional<unsigned> CoresOf(const std::string& root, const std::vector<int>& cpus) {
  std::set<std::string> groups;
  for (const int cpu : cpus) {
    const std::optional<std::string> list = CoreSiblings(root, cpu);
    if (!list) return std::nullopt;
    groups.insert(*list);
  }
  if (groups.empty()) return std::nullopt;
  return static_cast<unsigned>(groups.size());
}

std::optional<unsigned> SocketsBySysfs(const std::string& root, const std::vector<int>& cpus) {
  std::set<int64_t> ids;
  for (const int cpu : cpus) {
    const std::optional<int64_t> id = ReadSigned(TopologyDirectory(root, cpu) + "/physical_package_id");
    if (!id || *id < 0) return std::nullopt;  // -1: the firmware does not say
    ids.insert(*id);
  }
  if (ids.empty()) return std::nullopt;
  return static_cast<unsigned>(ids.size());
}

// Cores by cpuinfo's (physical id, core id), where they agree with its "cpu cores" and "siblings".
std::optional<unsigned> CoresByCpuinfo(const std::vector<CpuinfoEntry>& entries) {
  std::set<std::pair<int, int>> cores;
  std::set<std::pair<int, unsigned>> claims;  // (socket, cpu cores)
  for (const CpuinfoEntry& entry : entries) {
    if (!entry.physical_id || !entry.core_id || !entry.cpu_cores || !entry.siblings) return std::nullopt;
    // More than two threads a core is a virtual machine that did not number its cores (C-074).
    if (*entry.cpu_cores == 0 || *entry.siblings > 2 * *entry.cpu_cores) return std::nullopt;
    cores.emplace(*entry.physical_id, *entry.core_id);
    claims.emplace(*entry.physical_id, *entry.cpu_cores);
  }
  unsigned claimed = 0;
  for (const auto& claim : claims) claimed += claim.second;
  if (cores.empty() || cores.size() != claimed) return std::nullopt;
  return claimed;
}

void CountKinds(const std::string& root, const std::vector<int>& online, Topology& topology) {
  const auto online_of = [&](const char* pmu) {
    std::vector<int> cpus;
    for (const int cpu : ParseCpuList(ReadText(root + "/sys/devices/" + pmu + "/cpus").value_or(""))) {
      if (std::binary_search(online.begin(), online.end(), cpu)) cpus.push_back(cpu);
    }
    return cpus;
  };
  const std::optional<unsigned> fast = CoresOf(root, online_of("cpu_core"));
  const std::optional<unsigned> slow = CoresOf(root, online_of("cpu_atom"));
  if (!fast || !slow) return;
  topology.fast_cores = *fast;
  topology.slow_cores = *slow;
}

}  // namespace

Topology ReadTopology(const std::string& root, const std::vector<CpuinfoEntry>& entries) {
  Topology topology;
  const auto count = static_cast<unsigned>(entries.size());
  std::vector<int> online = ParseCpuList(ReadText(root + kCpus + "/online").value_or(""));
  const std::vector<int> present = ParseCpuList(ReadText(root + kCpus + "/present").value_or(""));
  if (!online.empty()) {
    topology.online = static_cast<unsigned>(online.size());
  } else if (count > 0) {
    topology.online = count;
    for (const CpuinfoEntry& entry : entries) online.push_back(entry.number);
  }
  topology.present = present.empty() ? topology.online : std::optional(static_cast<unsigned>(present.size()));

  topology.cores = CoresOf(root, online);
  const bool has_ids =
      std::any_of(entries.begin(), entries.end(), [](const auto& e) { return e.physical_id.has_value(); });
  if (!topology.cores && has_ids) {
    topology.cores = CoresByCpuinfo(entries);
    if (!topology.cores)
      topology.cores_note = "no topology in sysfs, and the numbers in /proc/cpuinfo contradict each other";
  } else if (!topology.cores && count > 0) {
    topology.cores = count;
    topology.cores_note = "estimated: one per CPU, since neither sysfs nor /proc/cpuinfo tells";
  }

  topology.sockets = SocketsBySysfs(root, online);
  if (!topology.sockets && has_ids) {
    std::set<int> ids;
    for (const CpuinfoEntry& entry : entries) ids.insert(entry.physical_id.value_or(0));
    topology.sockets = static_cast<unsigned>(ids.size());
  } else if (!topology.sockets && count > 0) {
    topology.sockets = 1;
  }
  CountKinds(root, online, topology);
  return topology;
}

}  // namespace fleetmark::agent
