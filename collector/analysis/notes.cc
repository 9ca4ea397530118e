#include "collector/analysis/notes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/summary/summary.h"

namespace fleetmark::collector {

namespace {

// "sync and io_uring"; in quotes where a value has commas or an "and" of its own.
std::string Several(const std::set<std::string>& values) {
  std::vector<std::string> spelled;
  for (const std::string& value : values) {
    const bool plain = value.find(',') == std::string::npos && value.find(" and ") == std::string::npos;
    spelled.push_back(plain ? value : absl::StrCat("\"", value, "\""));
  }
  return absl::StrJoin(spelled, " and ");
}

}  // namespace

std::string TaskStateText(v1::TaskState state) {
  switch (state) {
    case v1::TASK_STATE_SKIPPED:
      return "skipped";
    case v1::TASK_STATE_FAILED:
      return "failed";
    case v1::TASK_STATE_CANCELLED:
      return "cancelled";
    case v1::TASK_STATE_LOST:
      return "lost";
    case v1::TASK_STATE_SUCCEEDED:
      return "succeeded";
    default:
      return "not finished";
  }
}

std::vector<std::string> SpellFlags(const std::vector<CellFlag>& flags, const Columns& columns) {
  struct Group {
    std::string first_metric;
    std::string evidence;
    size_t count = 0;
  };
  std::map<std::tuple<std::string, size_t, std::string>, Group> groups;
  for (const CellFlag& flag : flags) {
    Group& group = groups[{flag.name, flag.column, flag.workload}];
    if (group.count++ == 0) group.first_metric = flag.metric;
    if (group.evidence.empty()) group.evidence = flag.evidence;
  }
  std::vector<std::string> lines;
  for (const auto& [key, group] : groups) {
    const auto& [name, column, workload] = key;
    std::string line = absl::StrCat(name, ", ", ColumnName(columns.all()[column], columns.by_run()), ", ", workload,
                                    " ", group.first_metric);
    if (group.count > 1) absl::StrAppend(&line, " and ", group.count - 1, " more");
    const std::string why = group.evidence.empty() ? ExplainFlag(name) : group.evidence;
    if (!why.empty()) absl::StrAppend(&line, ": ", why);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> DescribeDifferences(const ParameterTexts& texts, const Columns& columns,
                                             const std::string& meaning) {
  struct Line {
    std::string workload;
    std::string text;
    std::vector<std::string> metrics;
  };
  std::vector<Line> found;
  for (const auto& [place, parameters] : texts) {
    const std::string& workload = place.first;
    const std::string& metric = place.second;
    for (const auto& [parameter, by_column] : parameters) {
      std::set<std::set<std::string>> different;
      std::vector<std::string> spelled;
      for (const auto& [column, values] : by_column) {
        different.insert(values);
        spelled.push_back(absl::StrCat(ColumnName(columns.all()[column], columns.by_run()), " ", Several(values)));
      }
      if (different.size() < 2) continue;
      const std::string text = absl::StrCat(parameter, " ", meaning, ": ", absl::StrJoin(spelled, ", "));
      const auto same = std::find_if(found.begin(), found.end(),
                                     [&](const Line& line) { return line.workload == workload && line.text == text; });
      Line& line = same == found.end() ? found.emplace_back(Line{workload, text, {}}) : *same;
      if (!metric.empty()) line.metrics.push_back(metric);
    }
  }
  std::vector<std::string> lines;
  for (const Line& line : found) {
    std::string where = line.workload;
    if (!line.metrics.empty()) absl::StrAppend(&where, " ", line.metrics.front());
    if (line.metrics.size() > 1) absl::StrAppend(&where, " and ", line.metrics.size() - 1, " more");
    lines.push_back(absl::StrCat(where, ": ", line.text));
  }
  return lines;
}

std::vector<std::string> DescribeTasks(const std::vector<TaskNote>& notes, bool by_run) {
  std::vector<std::string> lines;
  for (const TaskNote& note : notes) {
    std::string line = note.host_name;
    if (!note.target.empty()) absl::StrAppend(&line, " ", note.target);
    if (by_run) absl::StrAppend(&line, " (run ", note.run, ")");
    absl::StrAppend(&line, ", ", note.workload, ": ", TaskStateText(note.state));
    if (!note.reason.empty()) absl::StrAppend(&line, ": ", note.reason);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace fleetmark::collector
