#include "collector/analysis/columns.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {

std::string ColumnName(const v1::ComparisonColumn& column, bool by_run) {
  std::string name = column.host();
  if (!column.target().empty()) absl::StrAppend(&name, " ", column.target());
  if (by_run && column.run_ids_size() == 1) absl::StrAppend(&name, " (run ", column.run_ids(0), ")");
  return name;
}

Columns::Columns(const ResultSet& results, const ComparisonOptions& options)
    : options_(options), by_run_(options.runs.size() > 1) {
  std::map<Key, v1::ComparisonColumn> found;
  for (const ResultRow& row : results.rows) {
    if (row.target.empty() || !Wanted(row.host_name, row.target)) continue;
    v1::ComparisonColumn& column = found[KeyOf(row.run, row.host, row.host_name, row.target, row.disk)];
    column.set_host_id(row.host);
    column.set_host(row.host_name);
    column.set_target(row.target);
    column.set_disk(row.disk_label);
    column.set_path(row.target_path);
    column.set_stack(row.stack);
  }
  const auto has_column = [&](const HostId& host, RunId run, const std::string* target) {
    return std::any_of(found.begin(), found.end(), [&](const auto& entry) {
      return entry.first.host == host && (!by_run_ || entry.first.run == run) &&
             (target == nullptr || entry.first.target == *target);
    });
  };
  const auto add = [&](RunId run, const HostId& host, const std::string& host_name, const std::string& target) {
    v1::ComparisonColumn& column = found[KeyOf(run, host, host_name, target, "")];
    column.set_host_id(host);
    column.set_host(host_name);
    column.set_target(target);
  };
  // A target whose tasks all were skipped or failed has a column too, and so has a host without any.
  for (const TaskNote& note : results.notes) {
    if (note.target.empty() || !Wanted(note.host_name, note.target)) continue;
    if (!has_column(note.host, note.run, &note.target)) add(note.run, note.host, note.host_name, note.target);
  }
  for (const ResultRow& row : results.rows) {
    if (row.target.empty() && !has_column(row.host, row.run, nullptr)) add(row.run, row.host, row.host_name, "");
  }
  for (const TaskNote& note : results.notes) {
    if (note.target.empty() && !has_column(note.host, note.run, nullptr)) add(note.run, note.host, note.host_name, "");
  }
  for (const AskedHost& host : options.hosts) {
    if (!has_column(host.id, 0, nullptr)) add(0, host.id, host.name, "");
  }
  for (auto& [key, column] : found) {
    index_[key] = columns_.size();
    columns_.push_back(std::move(column));
  }
}

bool Columns::Wanted(const std::string& host_name, const std::string& target) const {
  if (options_.targets.empty()) return true;
  bool host_is_named = false;
  for (const v1::TargetChoice& choice : options_.targets) {
    if (!choice.host().empty() && choice.host() != host_name) continue;
    host_is_named = true;
    if (choice.target() == target) return true;
  }
  return !host_is_named;  // a host that no choice speaks of shows all of its targets
}

Columns::Key Columns::KeyOf(RunId run, const HostId& host, const std::string& host_name, const std::string& target,
                            const std::string& disk) const {
  Key key;
  if (by_run_) {
    const auto place = std::find(options_.runs.begin(), options_.runs.end(), run);
    key.order = static_cast<size_t>(place - options_.runs.begin());
    key.run = run;
  } else {
    const auto place = std::find_if(options_.hosts.begin(), options_.hosts.end(),
                                    [&](const AskedHost& asked) { return asked.id == host; });
    key.order = static_cast<size_t>(place - options_.hosts.begin());
  }
  key.host_name = host_name;
  key.host = host;
  key.target = target;
  key.disk = disk;
  return key;
}

std::vector<size_t> Columns::OfHost(const HostId& host, RunId run) const {
  std::vector<size_t> columns;
  for (const auto& [key, index] : index_) {
    if (key.host == host && (!by_run_ || key.run == run)) columns.push_back(index);
  }
  return columns;
}

std::vector<size_t> Columns::Of(const ResultRow& row) const {
  if (row.target.empty()) return OfHost(row.host, row.run);
  const auto found = index_.find(KeyOf(row.run, row.host, row.host_name, row.target, row.disk));
  return found == index_.end() ? std::vector<size_t>() : std::vector<size_t>{found->second};
}

std::vector<size_t> Columns::Of(const TaskNote& note) const {
  std::vector<size_t> columns = OfHost(note.host, note.run);
  if (note.target.empty()) return columns;
  std::erase_if(columns, [&](size_t index) { return columns_[index].target() != note.target; });
  return columns;
}

}  // namespace fleetmark::collector
