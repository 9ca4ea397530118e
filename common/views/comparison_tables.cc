#include "common/views/comparison_tables.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "common/parameters/parameters.h"
#include "common/summary/summary.h"
#include "common/units/format.h"

namespace fleetmark {
namespace {

std::optional<double> MedianOf(const v1::ComparisonCell& cell) {
  return cell.has_median() ? std::optional<double>(cell.median()) : std::nullopt;
}

// "mac-pro", or "mac-pro:ssd", or "mac-pro:ssd run 12" where that tells columns apart.
std::vector<std::string> ColumnNames(const v1::CompareResponse& comparison) {
  std::vector<std::string> names;
  for (const v1::ComparisonColumn& column : comparison.columns()) {
    names.push_back(column.target().empty() ? column.host() : column.host() + ":" + column.target());
  }
  for (int i = 0; i < comparison.columns_size(); ++i) {
    const std::string name = names[static_cast<size_t>(i)];
    if (std::count(names.begin(), names.end(), name) < 2) continue;
    for (int other = comparison.columns_size() - 1; other >= i; --other) {
      const v1::ComparisonColumn& column = comparison.columns(other);
      if (names[static_cast<size_t>(other)] != name || column.run_ids().empty()) continue;
      names[static_cast<size_t>(other)] += absl::StrFormat(" run %d", column.run_ids(0));
    }
  }
  return names;
}

// Half of the range as a share of the median: "±1.2 %"; the interval where there is one, else the extremes.
Cell SpreadCell(const v1::ComparisonCell& cell) {
  if (!cell.has_median() || !cell.has_low() || !cell.has_high() || cell.repetitions() < 2 || cell.median() == 0) {
    return Cell();
  }
  const double half = (cell.high() - cell.low()) / 2 / cell.median();
  return Cell::Text(absl::StrFormat("±%.1f %%", 100 * std::max(half, -half)));
}

Cell ValueCell(const v1::ComparisonRow& row, const v1::ComparisonCell& cell, bool mark_best) {
  Cell result = Cell::Number(MedianOf(cell), UnitFromProto(row.unit()));
  if (!cell.has_median() && !cell.missing_reason().empty()) {
    const std::string& reason = cell.missing_reason();
    result = Cell::Text(reason.substr(0, reason.find(':')));
    result.style = Style::kDim;
  }
  if (cell.best() && mark_best) result.mark = "*", result.style = Style::kGood;
  for (const std::string& flag : cell.flags()) result.flags.push_back(flag);
  return result;
}

struct Group {
  std::string title;
  std::vector<const v1::ComparisonRow*> rows;
};

std::vector<Group> GroupRows(const v1::CompareResponse& comparison) {
  std::vector<Group> groups;
  for (const v1::ComparisonRow& row : comparison.rows()) {
    std::string title = absl::StrFormat("%s@%d", row.workload(), row.version());
    if (!row.parameters().empty()) title += "  " + row.parameters();
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.title == title; });
    Group& group = same == groups.end() ? groups.emplace_back(Group{title, {}}) : *same;
    group.rows.push_back(&row);
  }
  return groups;
}

// The columns that have anything to do with a group's rows.
std::vector<int> UsedColumns(const v1::CompareResponse& comparison, const Group& group) {
  std::vector<int> used;
  for (int i = 0; i < comparison.columns_size(); ++i) {
    const bool any = std::any_of(group.rows.begin(), group.rows.end(), [i](const v1::ComparisonRow* row) {
      return i < row->cells_size() && (row->cells(i).has_median() || row->cells(i).missing_reason() != "no result");
    });
    if (any) used.push_back(i);
  }
  return used;
}

Table GroupTable(const v1::CompareResponse& comparison, const Group& group, const std::vector<std::string>& names) {
  Table table;
  table.title = group.title;
  table.columns.push_back({.header = "metric"});
  const std::vector<int> used = UsedColumns(comparison, group);
  for (size_t i = 0; i < used.size(); ++i) {
    table.columns.push_back({.header = names[static_cast<size_t>(used[i])], .align = Align::kRight});
    table.columns.push_back({.header = "spread", .align = Align::kRight, .with_previous = true});
    table.columns.push_back({.header = "n", .align = Align::kRight, .with_previous = true});
    if (i > 0) table.columns.push_back({.header = "ratio", .align = Align::kRight, .with_previous = true});
  }
  for (const v1::ComparisonRow* row : group.rows) {
    std::vector<Cell> cells{Cell::Text(row->metric() + (row->classic() ? " (classic)" : ""))};
    for (size_t i = 0; i < used.size(); ++i) {
      const v1::ComparisonCell& cell = row->cells(used[i]);
      cells.push_back(ValueCell(*row, cell, used.size() > 1));
      cells.push_back(SpreadCell(cell));
      cells.push_back(cell.has_median() ? Cell::Number(cell.repetitions(), Unit::kNone) : Cell());
      if (i == 0) continue;
      cells.push_back(cell.has_ratio_to_first() ? Cell::Text(FormatRatio(cell.ratio_to_first())) : Cell());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// "mac-pro:ssd: /mnt/ssd on ext4 > sda1 > sda (Electra 6G), run 12"; "" where that says nothing that is not said
// already.
std::string DescribeColumn(const v1::CompareResponse& comparison, int index, const std::string& name) {
  const v1::ComparisonColumn& column = comparison.columns(index);
  std::string place;
  if (!column.path().empty()) place += " " + column.path();
  if (!column.stack().empty()) place += " on " + column.stack();
  if (!column.disk().empty()) place += " (" + column.disk() + ")";
  std::string runs;
  for (const int64_t run : column.run_ids()) runs += absl::StrFormat("%s%d", runs.empty() ? "" : ", ", run);
  if (!runs.empty()) runs = (column.run_ids_size() == 1 ? "run " : "runs ") + runs;
  if (place.empty()) {
    if (runs.empty() || name.ends_with(" " + runs)) return "";
    // Of a host without a disk here: the line of one of its disks says it.
    for (const v1::ComparisonColumn& other : comparison.columns()) {
      if (&other == &column || other.host_id() != column.host_id() || other.path().empty()) continue;
      if (std::equal(column.run_ids().begin(), column.run_ids().end(), other.run_ids().begin(),
                     other.run_ids().end())) {
        return "";
      }
    }
    return name + ": " + runs;
  }
  return name + ":" + place + (runs.empty() ? "" : ", " + runs);
}

std::vector<Cell> CsvRow(const v1::ComparisonRow& row, const v1::ComparisonCell& cell,
                         const v1::ComparisonColumn& column) {
  const auto number = [](bool has, double value) {
    return Cell::Number(has ? std::optional<double>(value) : std::nullopt, Unit::kNone);
  };
  std::string flags;
  for (const std::string& flag : cell.flags()) flags += (flags.empty() ? "" : ";") + flag;
  return {Cell::Text(row.workload()),
          number(true, row.version()),
          Cell::Text(row.parameters()),
          Cell::Text(row.metric()),
          Cell::Text(std::string(UnitName(UnitFromProto(row.unit())))),
          Cell::Text(std::string(DirectionText(DirectionFromProto(row.direction())))),
          Cell::Text(column.host()),
          Cell::Text(column.target()),
          Cell::Text(column.disk()),
          number(cell.run_id() != 0, static_cast<double>(cell.run_id())),
          number(cell.has_median(), cell.repetitions()),
          number(cell.has_median(), cell.median()),
          number(cell.has_low(), cell.low()),
          number(cell.has_high(), cell.high()),
          Cell::Text(cell.interval() ? "true" : "false"),
          number(cell.has_ratio_to_first(), cell.ratio_to_first()),
          Cell::Text(cell.best() ? "true" : "false"),
          number(cell.has_latency_p50_seconds(), cell.latency_p50_seconds()),
          number(cell.has_latency_p99_seconds(), cell.latency_p99_seconds()),
          number(cell.has_cpu_percent(), cell.cpu_percent()),
          Cell::Text(flags),
          Cell::Text(cell.missing_reason())};
}

}  // namespace

std::vector<Table> ComparisonTables(const v1::CompareResponse& comparison) {
  const std::vector<std::string> names = ColumnNames(comparison);
  std::vector<Table> tables;
  bool interval = false, extremes = false, has_columns_to_compare = false;
  for (const Group& group : GroupRows(comparison)) {
    tables.push_back(GroupTable(comparison, group, names));
    has_columns_to_compare = has_columns_to_compare || UsedColumns(comparison, group).size() > 1;
  }
  for (const v1::ComparisonRow& row : comparison.rows()) {
    for (const v1::ComparisonCell& cell : row.cells()) {
      if (!cell.has_median() || cell.repetitions() < 2) continue;
      (cell.interval() ? interval : extremes) = true;
    }
  }
  if (tables.empty()) tables.push_back({.title = "no results"});
  for (Table& table : tables) {
    std::set<std::string> here;
    for (const auto& row : table.rows) {
      for (const Cell& cell : row) here.insert(cell.flags.begin(), cell.flags.end());
    }
    for (const std::string& name : here) table.flag_texts.emplace(name, ExplainFlag(name));
  }
  std::vector<std::string>& notes = tables.back().notes;
  for (int i = 0; i < comparison.columns_size(); ++i) {
    const std::string line = DescribeColumn(comparison, i, names[static_cast<size_t>(i)]);
    if (!line.empty()) notes.push_back(line);
  }
  std::string key;
  if (interval) key = "spread: 95 % interval of the median (half width)";
  if (extremes) key += std::string(key.empty() ? "spread: " : "; ") + "half of highest - lowest where n < 6";
  if (has_columns_to_compare) key += std::string(key.empty() ? "" : "; ") + "* best; ratio: to the first column";
  if (!key.empty()) notes.push_back(key);
  for (const std::string& flag : comparison.flags()) notes.push_back(flag);
  for (const std::string& note : comparison.notes()) notes.push_back(note);
  return tables;
}

Table ComparisonCsv(const v1::CompareResponse& comparison) {
  Table table;
  for (const char* header : {"workload",
                             "version",
                             "parameters",
                             "metric",
                             "unit",
                             "direction",
                             "host",
                             "target",
                             "disk",
                             "run",
                             "repetitions",
                             "median",
                             "low",
                             "high",
                             "interval",
                             "ratio_to_first",
                             "best",
                             "latency_p50_seconds",
                             "latency_p99_seconds",
                             "cpu_percent",
                             "flags",
                             "missing"}) {
    table.columns.push_back({.header = header});
  }
  for (const Group& group : GroupRows(comparison)) {
    const std::vector<int> used = UsedColumns(comparison, group);
    for (const v1::ComparisonRow* row : group.rows) {
      for (const int i : used) {
        if (i < 0 || i >= row->cells_size()) continue;
        table.rows.push_back(CsvRow(*row, row->cells(i), comparison.columns(i)));
      }
    }
  }
  return table;
}

}  // namespace fleetmark
