#include "agent/platform/linux/cache.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "agent/platform/linux/memory.h"
#include "agent/platform/linux/sysfs.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kMib = 1ull << 20;
constexpr uint64_t kMostPerCpu = 32 * kMib;

// "8192K", "260M".
uint64_t ParseSize(std::string_view text) {
  const uint64_t number = ParseUnsigned(text).value_or(0);
  const char unit = text.empty() ? ' ' : text.back();
  if (unit == 'K') return number << 10;
  if (unit == 'M') return number << 20;
  if (unit == 'G') return number << 30;
  return number;
}

// The distinct caches of the highest level that the usable CPUs reach, added up.
uint64_t SumBySysfs(const std::string& root, const std::vector<int>& cpus) {
  std::map<std::string, uint64_t> caches;  // by the CPUs that share it
  uint64_t highest = 0;
  for (const int cpu : cpus) {
    const std::string directory = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    for (const std::string& index : ListDirectory(directory)) {
      if (index.substr(0, 5) != "index") continue;
      const std::string cache = absl::StrCat(directory, "/", index);
      if (ReadTrimmed(cache + "/type").value_or("") == "Instruction") continue;
      const uint64_t level = ReadUnsigned(cache + "/level").value_or(0);
      const uint64_t size = ParseSize(ReadTrimmed(cache + "/size").value_or(""));
      if (size == 0 || level < highest) continue;
      if (level > highest) caches.clear();
      highest = level;
      caches[ReadTrimmed(cache + "/shared_cpu_list").value_or(std::to_string(cpu))] = size;
    }
  }
  uint64_t sum = 0;
  for (const auto& [sharers, size] : caches) sum += size;
  return sum;
}

uint64_t BySysconf() {
#ifdef _SC_LEVEL4_CACHE_SIZE
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long size = sysconf(name);
    if (size > 0) return static_cast<uint64_t>(size);
  }
#endif
  return 0;
}

}  // namespace

LastLevelCache JudgeCacheClaim(const CacheClaim& claim) {
  LastLevelCache cache;
  if (claim.bytes == 0) {
    cache.source = "unknown";
    return cache;
  }
  const bool doubtful = !claim.from_sysfs || claim.virtual_machine;
  const bool too_much = claim.bytes > kMostPerCpu * std::max(1u, claim.sharing_cpus) ||
                        (claim.memory_bytes > 0 && claim.bytes > claim.memory_bytes / 32);
  if (doubtful && too_much) {
    cache.source = "implausible";
    return cache;
  }
  cache.bytes = claim.bytes;
  cache.source = claim.from_sysfs ? "sysfs" : "sysconf";
  return cache;
}

LastLevelCache ReadLastLevelCache(const std::string& root) {
  const UsableCpus usable = ReadUsableCpus(root);
  CacheClaim claim;
  claim.sharing_cpus = static_cast<unsigned>(usable.cpus.size());
  claim.bytes = SumBySysfs(root, usable.cpus);
  claim.from_sysfs = claim.bytes > 0;
  if (claim.bytes == 0 && root.empty()) claim.bytes = BySysconf();
  const std::string virtualization = DetectVirtualization(root);
  claim.virtual_machine = !virtualization.empty() && virtualization != "container";
  claim.memory_bytes = ReadMeminfo(root, "MemTotal").value_or(0);
  return JudgeCacheClaim(claim);
}

}  // namespace fleetmark::agent
