// /proc/cpuinfo as text: a pure parser. One entry per logical CPU, whatever the architecture writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::agent {

struct CpuinfoEntry {
  int number = 0;
  std::string model;                    // "" where the kernel gives none, or only a generic word (C-070, C-071)
  std::optional<unsigned> implementer;  // ARM
  std::optional<unsigned> part;
  std::optional<int> physical_id;
  std::optional<int> core_id;
  std::optional<unsigned> siblings;
  std::optional<unsigned> cpu_cores;
  std::vector<std::string> flags;
};

std::vector<CpuinfoEntry> ParseCpuinfo(std::string_view text);

// "Cortex-A72" for (0x41, 0xd08); "ARM 0x41/0xd99" for pairs that are not in the table.
std::string ArmCoreName(unsigned implementer, unsigned part);

// What one CPU is called: an ARM part number wins over a model name (C-071). "" if nothing is known.
std::string CoreName(const CpuinfoEntry& entry);

// What the whole machine's processor is called: "Xeon E5-2640 v2"; "1x A + 1x B" for sockets of different models
// (C-076); "4x Cortex-A55 + 4x Cortex-A76" for cores of different kinds (C-071).
std::string ProcessorName(const std::vector<CpuinfoEntry>& entries);

}  // namespace fleetmark::agent
