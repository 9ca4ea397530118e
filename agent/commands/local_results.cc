#include "agent/commands/local_results.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/executor/exit_reason.h"
#include "agent/workloads/workload.h"
#include "common/parameters/parameters.h"
#include "common/summary/summary.h"

namespace fleetmark::agent {
namespace {

v1::MetricSummary ToMessage(const MetricSummary& summary) {
  v1::MetricSummary message;
  message.set_metric(summary.metric);
  message.set_unit(summary.unit);
  message.set_direction(summary.direction);
  if (summary.summary.median.has_value()) message.set_median(*summary.summary.median);
  if (summary.range.has_value()) {
    message.set_low(summary.range->low);
    message.set_high(summary.range->high);
  }
  message.set_interval(summary.range_is_interval);
  message.set_repetitions(static_cast<uint32_t>(summary.values.size()));
  message.set_excluded(summary.excluded);
  for (const auto& [name, evidence] : summary.flags) {
    v1::Flag& flag = *message.add_flags();
    flag.set_name(name);
    flag.set_evidence(evidence);
  }
  message.set_missing_reason(summary.missing_reason);
  if (summary.latency_p50_seconds.has_value()) message.set_latency_p50_seconds(*summary.latency_p50_seconds);
  if (summary.latency_p99_seconds.has_value()) message.set_latency_p99_seconds(*summary.latency_p99_seconds);
  if (summary.cpu_percent.has_value()) message.set_cpu_percent(*summary.cpu_percent);
  message.set_classic(summary.classic);
  message.set_unverified(summary.unverified);
  return message;
}

std::string StackText(const v1::Target& target) {
  std::vector<std::string> layers;
  if (!target.file_system().empty()) layers.push_back(target.file_system());
  for (const v1::StorageLayer& layer : target.stack()) {
    if (!layer.device().empty()) layers.push_back(layer.device());
  }
  return absl::StrJoin(layers, " > ");
}

v1::ComparisonColumn ColumnOf(const v1::TaskStarted& started) {
  v1::ComparisonColumn column;
  column.set_host(started.inventory().host_name().empty() ? "this machine" : started.inventory().host_name());
  if (!started.has_target()) return column;
  column.set_target(started.target().name());
  column.set_path(started.target().path());
  column.set_stack(StackText(started.target()));
  if (started.target().disks_size() > 0) {
    const v1::Disk& disk = started.target().disks(0);
    column.set_disk(disk.model().empty() ? disk.kernel_name() : disk.model());
  }
  return column;
}

v1::ComparisonCell CellOf(const v1::MetricSummary& metric, const v1::TaskFinished& finished) {
  v1::ComparisonCell cell;
  if (metric.has_median()) cell.set_median(metric.median());
  if (metric.has_low()) cell.set_low(metric.low());
  if (metric.has_high()) cell.set_high(metric.high());
  cell.set_interval(metric.interval());
  cell.set_repetitions(metric.repetitions());
  cell.set_excluded(metric.excluded());
  // Flags of values that were left out are not in the cell: the note about them is.
  if (metric.excluded() == 0) {
    for (const v1::Flag& flag : metric.flags()) cell.add_flags(flag.name());
  }
  for (const v1::Flag& flag : finished.flags()) {
    if (std::find(cell.flags().begin(), cell.flags().end(), flag.name()) == cell.flags().end()) {
      cell.add_flags(flag.name());
    }
  }
  cell.set_missing_reason(metric.missing_reason());
  if (metric.has_latency_p50_seconds()) cell.set_latency_p50_seconds(metric.latency_p50_seconds());
  if (metric.has_latency_p99_seconds()) cell.set_latency_p99_seconds(metric.latency_p99_seconds());
  if (metric.has_cpu_percent()) cell.set_cpu_percent(metric.cpu_percent());
  cell.set_unverified(metric.unverified());
  return cell;
}

std::string ParametersText(const v1::TaskStarted& started) {
  const absl::StatusOr<const WorkloadEntry*> entry = FindWorkload(started.workload(), started.version());
  const ParameterMap values(started.identity_parameters().begin(), started.identity_parameters().end());
  return entry.ok() ? DescribeNonDefaults((*entry)->descriptor, values) : std::string();
}

// Collects lines without saying one twice.
class Lines {
 public:
  explicit Lines(google::protobuf::RepeatedPtrField<std::string>* lines) : lines_(lines) {}
  void Add(const std::string& line) {
    if (seen_.insert(line).second) *lines_->Add() = line;
  }

 private:
  google::protobuf::RepeatedPtrField<std::string>* lines_;
  std::set<std::string> seen_;
};

// What the workload found out for itself: for the whole task, and for each metric where that differs.
void AddDerived(const v1::TaskResult& result, const std::string& name, Lines& notes) {
  const absl::StatusOr<const WorkloadEntry*> entry =
      FindWorkload(result.started().workload(), result.started().version());
  const auto text = [&](const std::string& parameter, const v1::ParameterValue& value) {
    if (!entry.ok()) return FormatParameterValue(value);
    const absl::StatusOr<const v1::ParameterDescriptor*> descriptor = FindParameter((*entry)->descriptor, parameter);
    return descriptor.ok() ? FormatParameter(**descriptor, value) : FormatParameterValue(value);
  };
  std::map<std::string, std::vector<std::string>> values;
  const auto add = [&](const std::string& parameter, const v1::ParameterValue& value) {
    std::vector<std::string>& list = values[parameter];
    std::string spelled = text(parameter, value);
    if (std::find(list.begin(), list.end(), spelled) == list.end()) list.push_back(std::move(spelled));
  };
  for (const auto& [parameter, value] : result.finished().derived_parameters()) add(parameter, value);
  for (const v1::Repetition& repetition : result.repetitions()) {
    for (const v1::Measurement& measurement : repetition.measurements()) {
      for (const auto& [parameter, value] : measurement.derived_parameters()) add(parameter, value);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [parameter, list] : values) {
    parts.push_back(absl::StrCat(parameter, "=", absl::StrJoin(list, " or ")));
  }
  if (!parts.empty()) notes.Add(absl::StrCat(name, " here: ", absl::StrJoin(parts, ", ")));
}

// Each flag with its evidence and the metrics it is about; those of the whole task are about all.
void AddFlags(const v1::TaskResult& result, Lines& flags) {
  std::set<std::string> of_all;
  for (const v1::Flag& flag : result.finished().flags()) {
    of_all.insert(flag.name());
    flags.Add(absl::StrCat(flag.name(), ": ", flag.evidence()));
  }
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> groups;
  for (const v1::MetricSummary& metric : result.metrics()) {
    for (const v1::Flag& flag : metric.flags()) {
      if (of_all.contains(flag.name())) continue;
      const std::pair<std::string, std::string> key(flag.name(), flag.evidence());
      auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == key; });
      if (group == groups.end()) {
        groups.emplace_back(key, std::vector<std::string>());
        group = std::prev(groups.end());
      }
      group->second.push_back(metric.metric());
    }
  }
  for (const auto& [flag, metrics] : groups) {
    std::string line = absl::StrCat(flag.first, ", ", metrics.front());
    if (metrics.size() > 1) absl::StrAppend(&line, " and ", metrics.size() - 1, " more");
    flags.Add(absl::StrCat(line, ": ", flag.second));
  }
}

void AddNotes(const v1::TaskResult& result, Lines& notes, Lines& flags) {
  const v1::TaskFinished& finished = result.finished();
  const std::string name = absl::StrCat(result.started().workload(), "@", result.started().version());
  if (finished.outcome() != v1::TASK_OUTCOME_SUCCEEDED) {
    const std::string outcome(OutcomeName(finished.outcome()));
    const bool says_more = !finished.reason().empty() && finished.reason() != outcome;
    notes.Add(absl::StrCat(name, " ", outcome, says_more ? ": " : "", says_more ? finished.reason() : ""));
  }
  for (const v1::MetricSummary& metric : result.metrics()) {
    if (metric.excluded() > 0) {
      std::vector<std::string> names;
      for (const v1::Flag& flag : metric.flags()) names.push_back(flag.name());
      notes.Add(absl::StrCat(metric.metric(), ": ", metric.excluded(), " flagged value",
                             metric.excluded() == 1 ? "" : "s", " left out (", absl::StrJoin(names, ", "), ")"));
    }
    if (metric.unverified()) {
      notes.Add("unverified: no device counter could vouch for the values of this target");
    }
  }
  AddFlags(result, flags);
  AddDerived(result, name, notes);
}

}  // namespace

void SummarizeResult(v1::TaskResult& result) {
  result.clear_metrics();
  const std::vector<v1::Repetition> repetitions(result.repetitions().begin(), result.repetitions().end());
  for (const MetricSummary& summary : SummarizeRepetitions(repetitions)) *result.add_metrics() = ToMessage(summary);
}

v1::CompareResponse CompareLocal(const v1::TaskResults& results) {
  v1::CompareResponse comparison;
  Lines notes(comparison.mutable_notes());
  Lines flags(comparison.mutable_flags());
  const auto column_of = [&](const v1::TaskStarted& started) {
    for (int i = 0; i < comparison.columns_size(); ++i) {
      if (comparison.columns(i).target() == started.target().name()) return i;
    }
    return -1;
  };
  for (const v1::TaskResult& result : results.results()) {
    if (result.started().has_target() && column_of(result.started()) < 0) {
      *comparison.add_columns() = ColumnOf(result.started());
    }
  }
  if (comparison.columns().empty() && !results.results().empty()) {
    *comparison.add_columns() = ColumnOf(results.results(0).started());
  }
  for (const v1::TaskResult& result : results.results()) {
    const int column = result.started().has_target() ? column_of(result.started()) : 0;
    for (const v1::MetricSummary& metric : result.metrics()) {
      v1::ComparisonRow& row = *comparison.add_rows();
      row.set_workload(result.started().workload());
      row.set_version(result.started().version());
      row.set_metric(metric.metric());
      row.set_unit(metric.unit());
      row.set_direction(metric.direction());
      row.set_parameters(ParametersText(result.started()));
      row.set_classic(metric.classic());
      for (int i = 0; i < comparison.columns_size(); ++i) {
        v1::ComparisonCell& cell = *row.add_cells();
        if (i == column) {
          cell = CellOf(metric, result.finished());
        } else {
          cell.set_missing_reason("no result");
        }
      }
    }
    AddNotes(result, notes, flags);
  }
  return comparison;
}

}  // namespace fleetmark::agent
