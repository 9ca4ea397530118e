#include "agent/platform/linux/cgroup.h"

#include <algorithm>

#include "agent/platform/linux/mountinfo.h"
#include "agent/platform/linux/sysfs.h"

namespace fleetmark::agent {
namespace {

// A limit this large is "none" in disguise: v1 writes 2^63 rounded down to a page.
constexpr uint64_t kNoLimitBytes = 1ull << 60;

struct Group {
  bool v2 = false;
  std::vector<std::string> directories;  // own group first, then its parents up to the mount
};

bool ListHas(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// The path of this process's group in the hierarchy of `controller`; "" as controller: the unified one.
std::optional<std::string> GroupPath(std::string_view text, std::string_view controller) {
  for (const std::string_view line : SplitLines(text)) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool match = controller.empty() ? controllers.empty() : ListHas(controllers, controller);
    if (match) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::vector<std::string> Directories(const std::string& root, const Mount& mount, std::string path) {
  // In a container the mount shows a part of the hierarchy; "/.." is a group outside our name space.
  if (path.substr(0, 3) == "/..") path.clear();
  if (mount.root != "/" && IsPathPrefix(mount.root, path)) path.erase(0, mount.root.size());
  if (path == "/") path.clear();
  std::vector<std::string> directories;
  const std::string base = root + mount.mount_point;
  while (!path.empty()) {
    if (PathExists(base + path)) directories.push_back(base + path);
    path.erase(path.rfind('/'));
  }
  directories.push_back(base);
  return directories;
}

// The hierarchies that may limit `controller`: a v1 hierarchy where it is mounted as one, and the unified one.
std::vector<Group> FindGroups(const std::string& root, std::string_view controller) {
  std::vector<Group> groups;
  const std::string text = ReadText(root + "/proc/self/cgroup").value_or("");
  for (const Mount& mount : ReadMountTable(root).mounts) {
    if (mount.file_system == "cgroup" && ListHas(mount.super_options, controller)) {
      groups.push_back({false, Directories(root, mount, GroupPath(text, controller).value_or("/"))});
    } else if (mount.file_system == "cgroup2") {
      groups.push_back({true, Directories(root, mount, GroupPath(text, "").value_or("/"))});
    }
  }
  return groups;
}

std::optional<double> QuotaOf(const std::string& directory, bool v2) {
  double quota = 0, period = 0;
  if (v2) {
    const std::optional<std::string> text = ReadTrimmed(directory + "/cpu.max");
    if (!text) return std::nullopt;
    const std::vector<std::string_view> fields = SplitFields(*text);
    const std::optional<uint64_t> microseconds = ParseUnsigned(fields[0]);
    if (!microseconds) return std::nullopt;  // "max"
    quota = static_cast<double>(*microseconds);
    period = fields.size() > 1 ? static_cast<double>(ParseUnsigned(fields[1]).value_or(0)) : 100'000;
  } else {
    const std::optional<int64_t> microseconds = ReadSigned(directory + "/cpu.cfs_quota_us");
    if (!microseconds || *microseconds <= 0) return std::nullopt;  // -1
    quota = static_cast<double>(*microseconds);
    period = static_cast<double>(ReadUnsigned(directory + "/cpu.cfs_period_us").value_or(0));
  }
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

uint64_t DroppableBytes(const std::string& directory, bool v2) {
  const std::string_view name = v2 ? "inactive_file " : "total_inactive_file ";
  const std::string text = ReadText(directory + "/memory.stat").value_or("");
  for (const std::string_view line : SplitLines(text)) {
    if (line.substr(0, name.size()) == name) return ParseUnsigned(line.substr(name.size())).value_or(0);
  }
  return 0;
}

}  // namespace

std::optional<double> ReadCpuQuota(const std::string& root) {
  std::optional<double> least;
  for (const Group& group : FindGroups(root, "cpu")) {
    for (const std::string& directory : group.directories) {
      const std::optional<double> quota = QuotaOf(directory, group.v2);
      if (quota) least = least ? std::min(*least, *quota) : *quota;
    }
  }
  return least;
}

std::optional<std::vector<int>> ReadCpuset(const std::string& root) {
  for (const Group& group : FindGroups(root, "cpuset")) {
    for (const std::string& directory : group.directories) {
      for (const char* file : {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
        const std::optional<std::string> text = ReadTrimmed(directory + file);
        if (!text) continue;
        std::vector<int> cpus = ParseCpuList(*text);
        if (!cpus.empty()) return cpus;
      }
    }
  }
  return std::nullopt;
}

std::optional<MemoryLimit> ReadMemoryLimit(const std::string& root) {
  std::optional<MemoryLimit> least;
  for (const Group& group : FindGroups(root, "memory")) {
    for (const std::string& directory : group.directories) {
      const auto limit = ReadUnsigned(directory + (group.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
      if (!limit || *limit >= kNoLimitBytes) continue;
      const uint64_t used =
          ReadUnsigned(directory + (group.v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
      const uint64_t kept = used - std::min(used, DroppableBytes(directory, group.v2));
      const uint64_t left = *limit - std::min(*limit, kept);
      if (!least) least = MemoryLimit{*limit, left};
      least->limit_bytes = std::min(least->limit_bytes, *limit);
      least->left_bytes = std::min(least->left_bytes, left);
    }
  }
  return least;
}

std::optional<double> ReadThrottledNs(const std::string& root) {
  for (const Group& group : FindGroups(root, "cpu")) {
    const std::string_view name = group.v2 ? "throttled_usec " : "throttled_time ";
    const std::string text = ReadText(group.directories.front() + "/cpu.stat").value_or("");
    for (const std::string_view line : SplitLines(text)) {
      if (line.substr(0, name.size()) != name) continue;
      const std::optional<uint64_t> value = ParseUnsigned(line.substr(name.size()));
      if (value) return static_cast<double>(*value) * (group.v2 ? 1e3 : 1.0);
    }
  }
  return std::nullopt;
}

}  // namespace fleetmark::agent
