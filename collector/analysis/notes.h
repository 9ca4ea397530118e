// What stands under the table of a comparison. Private to collector/analysis.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/analysis/columns.h"

namespace fleetmark::collector {

// A flag of one cell.
struct CellFlag {
  size_t column = 0;
  std::string workload;
  std::string metric;
  std::string name;
  std::string evidence;
};

// (Workload, metric; "" for all of them) -> parameter -> column -> the values it had there, as text.
using ParameterTexts =
    std::map<std::pair<std::string, std::string>, std::map<std::string, std::map<size_t, std::set<std::string>>>>;

// "cached, mac-pro ssd, disk.dd read.pass1 and 2 more: the device moved 3 MB of 2147 MB asked".
std::vector<std::string> SpellFlags(const std::vector<CellFlag>& flags, const Columns& columns);

// "memory.stream@1: array_bytes differs: mac-pro 256 MiB, thinkpad 64 MiB"; metrics that differ alike share a line:
// "disk.profile@1 rnd4k_q1t1.read.iops and 5 more: engine differs: ...".
std::vector<std::string> DescribeDifferences(const ParameterTexts& texts, const Columns& columns,
                                             const std::string& meaning);

// "mac-pro data, disk.profile: skipped: target is in memory".
std::vector<std::string> DescribeTasks(const std::vector<TaskNote>& notes, bool by_run);

// "skipped", "failed", "cancelled", "lost", "not finished".
std::string TaskStateText(v1::TaskState state);

}  // namespace fleetmark::collector
