#include "agent/platform/linux/cpuinfo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "agent/platform/linux/disk_facts.h"
#include "agent/platform/linux/sysfs.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

std::optional<unsigned> Number(std::string_view text) {
  int base = 10;
  if (text.substr(0, 2) == "0x") {
    text.remove_prefix(2);
    base = 16;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int> SignedNumber(std::string_view text) {
  const std::optional<unsigned> number = Number(text);
  if (!number || *number > 1u << 30) return std::nullopt;
  return static_cast<int>(*number);
}

// Names the kernel gives to an architecture, not to a processor.
bool IsGeneric(std::string_view model) {
  for (const std::string_view word : {"ARMv", "AArch64", "ARM Processor"}) {
    if (model.substr(0, word.size()) == word) return true;
  }
  return model == "unknown" || model == "Common KVM processor" || model == "00/00";
}

// "4x A + 4x B" of names in order of appearance.
std::string CountedNames(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, unsigned>> counts;
  for (const std::string& name : names) {
    const auto at = std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == name; });
    if (at == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++at->second;
    }
  }
  if (counts.size() == 1) return counts.front().first;
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += " + ";
    text += std::to_string(count) + "x " + (name.empty() ? "unknown" : name);
  }
  return text;
}

}  // namespace

std::vector<CpuinfoEntry> ParseCpuinfo(std::string_view text) {
  std::vector<CpuinfoEntry> entries;
  std::string shared_model;  // on systems that name the model once, after or before all CPUs
  std::vector<std::string> shared_flags;
  for (const std::string_view line : SplitLines(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = Trim(line.substr(0, colon));
    const std::string_view value = Trim(line.substr(colon + 1));
    // "Processor : AArch64 Processor rev 4" is no CPU: those have a number and a small p.
    if (key == "processor") {
      const std::optional<int> number = SignedNumber(value);
      if (!number) continue;
      entries.emplace_back();
      entries.back().number = *number;
      continue;
    }
    // s390 writes "processor 0: version = FF, ..."
    if (key.substr(0, 10) == "processor " && SignedNumber(key.substr(10))) {
      entries.emplace_back();
      entries.back().number = *SignedNumber(key.substr(10));
      continue;
    }
    if (key == "model name" || key == "cpu" || key == "cpu model" || key == "uarch") {
      const std::string model = WithoutPlaceholder(value);
      if (IsGeneric(model)) continue;
      std::string& target = entries.empty() ? shared_model : entries.back().model;
      if (target.empty()) target = CleanUtf8(model);
    } else if (key == "flags" || key == "Features" || key == "features") {
      std::vector<std::string>& target = entries.empty() ? shared_flags : entries.back().flags;
      for (const std::string_view flag : SplitFields(value)) target.emplace_back(flag);
    } else if (!entries.empty()) {
      CpuinfoEntry& entry = entries.back();
      if (key == "CPU implementer") entry.implementer = Number(value);
      if (key == "CPU part") entry.part = Number(value);
      if (key == "physical id") entry.physical_id = SignedNumber(value);
      if (key == "core id") entry.core_id = SignedNumber(value);
      if (key == "siblings") entry.siblings = Number(value);
      if (key == "cpu cores") entry.cpu_cores = Number(value);
    }
  }
  for (CpuinfoEntry& entry : entries) {
    if (entry.model.empty()) entry.model = shared_model;
    if (entry.flags.empty()) entry.flags = shared_flags;
  }
  return entries;
}

std::string ArmCoreName(unsigned implementer, unsigned part) {
  struct Core {
    unsigned implementer, part;
    const char* name;
  };
  static constexpr std::array<Core, 62> kCores = {{
      {0x41, 0xb76, "ARM1176"},
      {0x41, 0xc05, "Cortex-A5"},
      {0x41, 0xc07, "Cortex-A7"},
      {0x41, 0xc08, "Cortex-A8"},
      {0x41, 0xc09, "Cortex-A9"},
      {0x41, 0xc0d, "Cortex-A17"},
      {0x41, 0xc0e, "Cortex-A17"},
      {0x41, 0xc0f, "Cortex-A15"},
      {0x41, 0xd01, "Cortex-A32"},
      {0x41, 0xd02, "Cortex-A34"},
      {0x41, 0xd03, "Cortex-A53"},
      {0x41, 0xd04, "Cortex-A35"},
      {0x41, 0xd05, "Cortex-A55"},
      {0x41, 0xd06, "Cortex-A65"},
      {0x41, 0xd07, "Cortex-A57"},
      {0x41, 0xd08, "Cortex-A72"},
      {0x41, 0xd09, "Cortex-A73"},
      {0x41, 0xd0a, "Cortex-A75"},
      {0x41, 0xd0b, "Cortex-A76"},
      {0x41, 0xd0c, "Neoverse-N1"},
      {0x41, 0xd0d, "Cortex-A77"},
      {0x41, 0xd0e, "Cortex-A76AE"},
      {0x41, 0xd40, "Neoverse-V1"},
      {0x41, 0xd41, "Cortex-A78"},
      {0x41, 0xd42, "Cortex-A78AE"},
      {0x41, 0xd44, "Cortex-X1"},
      {0x41, 0xd46, "Cortex-A510"},
      {0x41, 0xd47, "Cortex-A710"},
      {0x41, 0xd48, "Cortex-X2"},
      {0x41, 0xd49, "Neoverse-N2"},
      {0x41, 0xd4a, "Neoverse-E1"},
      {0x41, 0xd4b, "Cortex-A78C"},
      {0x41, 0xd4c, "Cortex-X1C"},
      {0x41, 0xd4d, "Cortex-A715"},
      {0x41, 0xd4e, "Cortex-X3"},
      {0x41, 0xd4f, "Neoverse-V2"},
      {0x41, 0xd80, "Cortex-A520"},
      {0x41, 0xd81, "Cortex-A720"},
      {0x41, 0xd82, "Cortex-X4"},
      {0x41, 0xd84, "Neoverse-V3"},
      {0x41, 0xd85, "Cortex-X925"},
      {0x41, 0xd87, "Cortex-A725"},
      {0x41, 0xd8e, "Neoverse-N3"},
      {0x42, 0x516, "ThunderX2"},
      {0x43, 0x0a1, "ThunderX"},
      {0x43, 0x0af, "ThunderX2"},
      {0x46, 0x001, "A64FX"},
      {0x48, 0xd01, "Kunpeng-920"},
      {0x4e, 0x004, "Carmel"},
      {0x51, 0x800, "Kryo-2xx-Gold"},
      {0x51, 0x801, "Kryo-2xx-Silver"},
      {0x51, 0x802, "Kryo-3xx-Gold"},
      {0x51, 0x803, "Kryo-3xx-Silver"},
      {0x51, 0x804, "Kryo-4xx-Gold"},
      {0x51, 0x805, "Kryo-4xx-Silver"},
      {0x51, 0xc00, "Falkor"},
      {0x61, 0x022, "Apple M1 Icestorm"},
      {0x61, 0x023, "Apple M1 Firestorm"},
      {0x61, 0x032, "Apple M2 Blizzard"},
      {0x61, 0x033, "Apple M2 Avalanche"},
      {0xc0, 0xac3, "Ampere-1"},
      {0xc0, 0xac4, "Ampere-1A"},
  }};
  for (const Core& core : kCores) {
    if (core.implementer == implementer && core.part == part) return core.name;
  }
  char text[32];
  char* end = text;
  const auto append_hex = [&](unsigned value, unsigned digits) {
    *end++ = '0';
    *end++ = 'x';
    for (unsigned digit = digits; digit-- > 0;) *end++ = "0123456789abcdef"[(value >> (4 * digit)) & 15];
  };
  append_hex(implementer, 2);
  *end++ = '/';
  append_hex(part, 3);
  return "ARM " + std::string(text, end);
}

std::string CoreName(const CpuinfoEntry& entry) {
  if (entry.implementer && entry.part) {
    std::string name = ArmCoreName(*entry.implementer, *entry.part);
    // An unlisted part of a machine that knows its own name: that name says more than two numbers.
    if (name.substr(0, 4) == "ARM " && !entry.model.empty()) return entry.model;
    return name;
  }
  return entry.model;
}

std::string ProcessorName(const std::vector<CpuinfoEntry>& entries) {
  if (entries.empty()) return "";
  const bool arm = entries.front().part.has_value();
  std::vector<std::string> names;
  std::set<int> sockets_seen;
  for (const CpuinfoEntry& entry : entries) {
    // ARM: one name per core. Elsewhere: one per socket, so that threads do not count.
    if (arm || !entry.physical_id || sockets_seen.insert(*entry.physical_id).second) names.push_back(CoreName(entry));
  }
  std::vector<std::string> all;
  all.reserve(entries.size());
  for (const CpuinfoEntry& entry : entries) all.push_back(CoreName(entry));
  const bool differs_within_socket = !arm && CountedNames(all) != all.front() && CountedNames(names) == names.front();
  return CountedNames(differs_within_socket ? all : names);
}

}  // namespace fleetmark::agent
