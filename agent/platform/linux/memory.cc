#include "agent/platform/linux/memory.h"

#include <algorithm>

#include "agent/platform/linux/cgroup.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/machine.h"

namespace fleetmark::agent {
namespace {

// Kernels before 3.14 have no MemAvailable: free and file pages are the usual guess. Never 0 for "not known".
std::optional<uint64_t> AvailableByKernel(const std::string& root) {
  const std::optional<uint64_t> available = ReadMeminfo(root, "MemAvailable");
  if (available) return available;
  const std::optional<uint64_t> free = ReadMeminfo(root, "MemFree");
  if (!free) return std::nullopt;
  return *free + ReadMeminfo(root, "Buffers").value_or(0) + ReadMeminfo(root, "Cached").value_or(0) -
         std::min(ReadMeminfo(root, "Cached").value_or(0), ReadMeminfo(root, "Shmem").value_or(0));
}

}  // namespace

std::optional<uint64_t> ReadMeminfo(const std::string& root, std::string_view name) {
  const std::string text = ReadText(root + "/proc/meminfo").value_or("");
  for (const std::string_view line : SplitLines(text)) {
    if (line.size() <= name.size() || line.substr(0, name.size()) != name || line[name.size()] != ':') continue;
    const std::optional<uint64_t> kibibytes = ParseUnsigned(Trim(line.substr(name.size() + 1)));
    if (kibibytes) return *kibibytes * 1024;
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadAvailableMemory(const std::string& root) {
  std::optional<uint64_t> available = AvailableByKernel(root);
  if (const std::optional<MemoryLimit> limit = ReadMemoryLimit(root)) {
    available = available ? std::min(*available, limit->left_bytes) : limit->left_bytes;
  }
  return available;
}

unsigned ReadMemoryNodes(const std::string& root) {
  const std::vector<int> nodes = ParseCpuList(ReadText(root + "/sys/devices/system/node/online").value_or(""));
  return nodes.empty() ? 1 : static_cast<unsigned>(nodes.size());
}

v1::Memory ReadMemory(const std::string& root, std::vector<v1::UnreadFact>& unread) {
  v1::Memory memory;
  if (const std::optional<uint64_t> total = ReadMeminfo(root, "MemTotal")) {
    memory.set_usable_bytes(static_cast<double>(*total));
  } else {
    v1::UnreadFact& fact = unread.emplace_back();
    fact.set_fact("memory.usable_bytes");
    fact.set_reason("/proc/meminfo: no MemTotal");
  }
  if (const std::optional<uint64_t> available = ReadAvailableMemory(root)) {
    memory.set_available_bytes(static_cast<double>(*available));
  }
  if (const std::optional<MemoryLimit> limit = ReadMemoryLimit(root)) {
    memory.set_limit_bytes(static_cast<double>(limit->limit_bytes));
  }
  if (const std::optional<uint64_t> swap = ReadMeminfo(root, "SwapTotal")) {
    memory.set_swap_bytes(static_cast<double>(*swap));
  }
  return memory;
}

}  // namespace fleetmark::agent
