#include "collector/analysis/comparison.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/analysis/columns.h"
#include "collector/analysis/notes.h"
#include "collector/analysis/row_order.h"
#include "common/parameters/parameters.h"
#include "common/statistics/compare.h"
#include "common/summary/summary.h"

namespace fleetmark::collector {
namespace {

constexpr char kNoResult[] = "no result";

// What was measured into one cell, before it is summarised.
struct Cell {
  std::vector<v1::Measurement> measurements;
  RunId run = 0;  // the newest
};

struct Row {
  size_t section = 0;
  std::string workload;
  uint32_t version = 0;
  std::string metric;
  std::string parameters;
  std::map<size_t, Cell> cells;  // by column
};

// Values that must not be taken for what they claim to be: they get no ratio either.
bool IsInvalidating(const std::string& flag) {
  static const std::set<std::string>* const kFlags =
      new std::set<std::string>{"cached", "unsynced", "too_short", "impossible", "implausible", "stats_inconsistent"};
  return kFlags->contains(flag);
}

class Comparer {
 public:
  Comparer(const ResultSet& results, const ComparisonOptions& options)
      : results_(results), options_(options), columns_(results, options) {}

  v1::CompareResponse Make() {
    if (options_.force) PairIdentities();
    for (const ResultRow& result : results_.rows) Place(result);
    for (const Row& row : rows_) FindBaseline(row);
    for (const size_t row : RowsInOrder()) AddRow(rows_[row]);
    AddNotes();
    for (size_t i = 0; i < columns_.all().size(); ++i) {
      v1::ComparisonColumn& column = columns_.all()[i];
      for (const RunId run : runs_of_column_[i]) column.add_run_ids(run);
    }
    Spell();
    for (const v1::ComparisonColumn& column : columns_.all()) *response_.add_columns() = column;
    return std::move(response_);
  }

 private:
  const v1::WorkloadDescriptor* Descriptor(const std::string& workload, uint32_t version) const {
    for (const v1::WorkloadDescriptor& descriptor : options_.workloads) {
      if (descriptor.name() == workload && descriptor.version() == version) return &descriptor;
    }
    return nullptr;
  }

  std::string Format(const v1::WorkloadDescriptor* workload, const std::string& name,
                     const v1::ParameterValue& value) const {
    if (workload != nullptr) {
      for (const v1::ParameterDescriptor& parameter : workload->parameters()) {
        if (parameter.name() == name) return FormatParameter(parameter, value);
      }
    }
    return FormatParameterValue(value);
  }

  std::string IdentityText(const ResultRow& result) const {
    const v1::WorkloadDescriptor* workload = Descriptor(result.workload, result.version);
    if (workload != nullptr) return DescribeNonDefaults(*workload, result.identity_parameters);
    std::vector<std::string> parts;
    for (const auto& [name, value] : result.identity_parameters) {
      parts.push_back(absl::StrCat(name, "=", FormatParameterValue(value)));
    }
    return absl::StrJoin(parts, " ");
  }

  // The exact values, whatever their text looks like.
  static std::string IdentityKey(const ResultRow& result) {
    std::string key;
    for (const auto& [name, value] : result.identity_parameters) {
      absl::StrAppend(&key, name, "=", value.SerializeAsString(), "\n");
    }
    return key;
  }

  // By force, sets of parameters that only one column has share rows: the first of one with the first of the others.
  // Several of one column never share one, and what two columns have in common stays together.
  void PairIdentities() {
    std::map<std::tuple<std::string, uint32_t, std::string>, std::set<size_t>> columns_with;
    std::vector<const ResultRow*> rows;
    for (const ResultRow& result : results_.rows) {
      const std::optional<size_t> column = columns_.Of(result);
      if (!column.has_value()) continue;
      columns_with[{result.workload, result.version, IdentityKey(result)}].insert(*column);
      rows.push_back(&result);
    }
    std::map<std::tuple<std::string, uint32_t, size_t>, size_t> pairs;
    for (const ResultRow* result : rows) {
      const auto identity = std::make_tuple(result->workload, result->version, IdentityKey(*result));
      const std::set<size_t>& columns = columns_with.at(identity);
      if (columns.size() > 1 || pair_of_.contains(identity)) continue;
      pair_of_[identity] = pairs[{result->workload, result->version, *columns.begin()}]++;
    }
  }

  void Place(const ResultRow& result) {
    const std::optional<size_t> column = columns_.Of(result);
    if (!column.has_value()) return;
    std::string identity = IdentityKey(result);
    const auto pair = pair_of_.find(std::make_tuple(result.workload, result.version, identity));
    const bool is_forced = pair != pair_of_.end();
    if (is_forced) identity = absl::StrCat("pair ", pair->second);
    const auto section =
        sections_.emplace(std::make_tuple(result.workload, result.version, identity), sections_.size()).first->second;
    const auto [place, is_new] = index_.emplace(std::make_pair(section, result.measurement.metric()), rows_.size());
    if (is_new) {
      rows_.push_back({section,
                       result.workload,
                       result.version,
                       result.measurement.metric(),
                       is_forced ? "" : IdentityText(result),
                       {}});
    }
    AddOnce(order_of_sections_[{result.run, result.host}], section);
    AddOnce(order_of_rows_[section][{result.run, *column}], place->second);
    Cell& cell = rows_[place->second].cells[*column];
    cell.measurements.push_back(result.measurement);
    cell.run = std::max(cell.run, result.run);
    runs_of_column_[*column].insert(result.run);
    const v1::WorkloadDescriptor* workload = Descriptor(result.workload, result.version);
    const std::string name = absl::StrCat(result.workload, "@", result.version);
    for (const auto& [parameter, value] : result.derived_parameters) {
      if (parameter == "seed") continue;  // different each time, which is its purpose
      derived_[{name, ""}][parameter][*column].insert(Format(workload, parameter, value));
    }
    for (const auto& [parameter, value] : result.measurement.derived_parameters()) {
      derived_[{name, result.measurement.metric()}][parameter][*column].insert(Format(workload, parameter, value));
    }
    for (const auto& [parameter, value] : result.identity_parameters) {
      identity_[{name, ""}][parameter][*column].insert(Format(workload, parameter, value));
    }
    if (!result.agent_build.empty()) builds_[{name, ""}]["agent build"][*column].insert(result.agent_build);
    versions_[result.workload].insert(result.version);
  }

  static void AddOnce(std::vector<size_t>& order, size_t index) {
    if (std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
  }

  // In the order of the suite, also where the first host skipped what comes first: as far as the orders of the hosts
  // and runs agree, theirs.
  std::vector<size_t> RowsInOrder() const {
    std::vector<size_t> rows;
    for (const size_t section : MergeOrders(order_of_sections_)) {
      const std::vector<size_t> inside = MergeOrders(order_of_rows_.at(section));
      rows.insert(rows.end(), inside.begin(), inside.end());
    }
    return rows;
  }

  std::string MissingReason(const Row& row, size_t column) const {
    for (const TaskNote& note : results_.notes) {
      if (note.workload != row.workload) continue;
      if (!columns_.Concerns(note, column)) continue;
      return note.reason.empty() ? TaskStateText(note.state)
                                 : absl::StrCat(TaskStateText(note.state), ": ", note.reason);
    }
    return kNoResult;
  }

  // What a section's values are related to: the first column that has anything to do with its workload.
  void FindBaseline(const Row& row) {
    size_t first = 0;
    while (first < columns_.all().size() && !row.cells.contains(first) && MissingReason(row, first) == kNoResult) {
      ++first;
    }
    const auto known = baseline_of_section_.emplace(row.section, first).first;
    known->second = std::min(known->second, first);
  }

  void AddRow(const Row& row) {
    v1::ComparisonRow& out = *response_.add_rows();
    out.set_workload(row.workload);
    out.set_version(row.version);
    out.set_metric(row.metric);
    out.set_parameters(row.parameters);
    std::vector<MetricSummary> summaries(columns_.all().size());
    for (size_t column = 0; column < columns_.all().size(); ++column) {
      v1::ComparisonCell& cell = *out.add_cells();
      const auto found = row.cells.find(column);
      if (found == row.cells.end()) {
        cell.set_missing_reason(MissingReason(row, column));
        continue;
      }
      MetricSummary& summary = summaries[column];
      summary = SummarizeMeasurements(found->second.measurements);
      if (out.unit() == v1::UNIT_UNSPECIFIED) out.set_unit(summary.unit);
      if (out.direction() == v1::DIRECTION_UNSPECIFIED) out.set_direction(summary.direction);
      if (summary.classic) out.set_classic(true);
      FillCell(summary, found->second.run, cell);
      for (const auto& [name, evidence] : summary.flags) {
        flags_.push_back({column, row.workload, row.metric, name, evidence});
        if (summary.excluded > 0) excluded_flags_[column].insert(name);
      }
      excluded_[column] += summary.excluded;
    }
    AddRatios(summaries, baseline_of_section_.at(row.section), out);
    MarkBest(summaries, out);
  }

  static void FillCell(const MetricSummary& summary, RunId run, v1::ComparisonCell& cell) {
    cell.set_run_id(run);
    cell.set_repetitions(static_cast<uint32_t>(summary.summary.n));
    cell.set_excluded(summary.excluded);
    cell.set_unverified(summary.unverified);
    for (const auto& [name, evidence] : summary.flags) cell.add_flags(name);
    if (!summary.summary.median.has_value()) {
      cell.set_missing_reason(summary.missing_reason.empty() ? "no value" : summary.missing_reason);
      return;
    }
    cell.set_median(*summary.summary.median);
    if (summary.range.has_value()) {
      cell.set_low(summary.range->low);
      cell.set_high(summary.range->high);
      cell.set_interval(summary.range_is_interval);
    }
    if (summary.latency_p50_seconds) cell.set_latency_p50_seconds(*summary.latency_p50_seconds);
    if (summary.latency_p99_seconds) cell.set_latency_p99_seconds(*summary.latency_p99_seconds);
    if (summary.cpu_percent) cell.set_cpu_percent(*summary.cpu_percent);
  }

  static bool HasRatio(const MetricSummary& summary) {
    return !summary.flagged || std::none_of(summary.flags.begin(), summary.flags.end(),
                                            [](const auto& flag) { return IsInvalidating(flag.first); });
  }

  static void AddRatios(const std::vector<MetricSummary>& summaries, size_t first, v1::ComparisonRow& row) {
    for (size_t i = first + 1; i < summaries.size(); ++i) {
      if (!HasRatio(summaries[first]) || !HasRatio(summaries[i])) continue;
      const BaselineRatio ratio = RatioToBaseline(summaries[first].summary.median, summaries[i].summary.median);
      if (ratio.ratio.has_value()) row.mutable_cells(static_cast<int>(i))->set_ratio_to_first(*ratio.ratio);
    }
  }

  // The best of at least two values without flags, and those that are as good; none if that is all of them, nor where
  // the repetitions do not tell whether another one is worse.
  void MarkBest(const std::vector<MetricSummary>& summaries, v1::ComparisonRow& row) {
    const Direction direction = DirectionFromProto(row.direction());
    if (direction == Direction::kNone) return;
    std::vector<std::optional<double>> medians;
    size_t known = 0;
    for (const MetricSummary& summary : summaries) {
      medians.push_back(summary.flagged ? std::nullopt : summary.summary.median);
      if (medians.back().has_value()) ++known;
    }
    if (known < 2) return;
    const absl::StatusOr<std::vector<size_t>> order = Rank(medians, direction);
    if (!order.ok()) return;
    ++judged_;
    const size_t best = order->front();
    std::vector<size_t> marked;
    for (size_t i = 0; i < medians.size(); ++i) {
      if (!medians[i].has_value()) continue;
      const Verdict verdict = Compare(summaries[best].values, summaries[i].values, direction).verdict;
      if (verdict == Verdict::kCannotTell) {
        ++undecided_;
        return;
      }
      if (verdict == Verdict::kSame) marked.push_back(i);
    }
    if (marked.size() == known) return;
    for (const size_t i : marked) row.mutable_cells(static_cast<int>(i))->set_best(true);
  }

  void AddNotes() {
    for (const AskedHost& host : options_.hosts) {
      const bool has_any = std::any_of(results_.rows.begin(), results_.rows.end(),
                                       [&](const ResultRow& r) { return r.host == host.id; }) ||
                           std::any_of(results_.notes.begin(), results_.notes.end(),
                                       [&](const TaskNote& n) { return n.host == host.id; });
      if (!has_any) response_.add_notes(absl::StrCat(host.name, ": no results yet"));
    }
  }

  void Spell() {
    const auto add = [&](const std::vector<std::string>& lines) {
      for (const std::string& line : lines) response_.add_notes(line);
    };
    if (undecided_ > 0) {
      response_.add_notes(absl::StrCat("no best marked where the intervals overlap or n < ", kFewestForVerdict, " (",
                                       undecided_, " of ", judged_, judged_ == 1 ? " row)" : " rows)"));
    }
    add(DescribeTasks(results_.notes, columns_.by_run()));
    for (const auto& [workload, versions] : versions_) {
      if (versions.size() < 2) continue;
      response_.add_notes(
          absl::StrCat(workload, ": versions ", absl::StrJoin(versions, " and "),
                       " measure different things and are never compared: they stand in separate rows"));
    }
    add(DescribeDifferences(
        identity_, columns_,
        options_.force ? "differs, compared all the same" : "differs, so the values stand in separate rows"));
    add(DescribeDifferences(derived_, columns_, "differs, as it follows from the machine"));
    add(DescribeDifferences(builds_, columns_, "differs"));
    for (const auto& [column, count] : excluded_) {
      if (count == 0) continue;
      response_.add_notes(absl::StrCat(ColumnName(columns_.all()[column], columns_.by_run()), ": ", count,
                                       count == 1 ? " value" : " values", " left out of the medians (",
                                       absl::StrJoin(excluded_flags_[column], ", "), ")"));
    }
    for (const std::string& line : SpellFlags(flags_, columns_)) response_.add_flags(line);
  }

  const ResultSet& results_;
  const ComparisonOptions& options_;
  Columns columns_;
  std::vector<Row> rows_;
  // A section: what shares workload, version and identity parameters.
  std::map<std::tuple<std::string, uint32_t, std::string>, size_t> sections_;
  std::map<std::pair<size_t, std::string>, size_t> index_;  // section and metric -> row
  std::map<std::pair<RunId, HostId>, std::vector<size_t>> order_of_sections_;
  std::map<size_t, std::map<std::pair<RunId, size_t>, std::vector<size_t>>> order_of_rows_;
  std::map<size_t, size_t> baseline_of_section_;                              // -> column
  std::map<std::tuple<std::string, uint32_t, std::string>, size_t> pair_of_;  // by force: see PairIdentities

  ParameterTexts derived_, identity_, builds_;
  std::map<std::string, std::set<uint32_t>> versions_;
  std::map<size_t, std::set<RunId>> runs_of_column_;
  std::vector<CellFlag> flags_;
  size_t judged_ = 0;     // rows with two or more values that a best one could be marked among
  size_t undecided_ = 0;  // of them, those where the repetitions do not tell
  std::map<size_t, uint32_t> excluded_;
  std::map<size_t, std::set<std::string>> excluded_flags_;
  v1::CompareResponse response_;
};

}  // namespace

v1::CompareResponse CompareResults(const ResultSet& results, const ComparisonOptions& options) {
  return Comparer(results, options).Make();
}

}  // namespace fleetmark::collector
