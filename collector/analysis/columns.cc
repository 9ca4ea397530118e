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
  const auto add = [&](RunId run, const HostId& host, const std::string& host_name, const std::string& target,
                       const std::string& disk) -> v1::ComparisonColumn& {
    v1::ComparisonColumn& column = found[KeyOf(run, host, host_name, target, disk)];
    column.set_host_id(host);
    column.set_host(host_name);
    column.set_target(target);
    return column;
  };
  for (const ResultRow& row : results.rows) {
    if (!row.target.empty() && !Wanted(row.host_name, row.target)) continue;
    v1::ComparisonColumn& column = add(row.run, row.host, row.host_name, row.target, row.disk);
    column.set_disk(row.disk_label);
    column.set_path(row.target_path);
    column.set_stack(row.stack);
  }
  const auto has_column = [&](const HostId& host, RunId run, bool without_target) {
    return std::any_of(found.begin(), found.end(), [&](const auto& entry) {
      return entry.first.host == host && (!by_run_ || entry.first.run == run) &&
             (!without_target || entry.first.target.empty());
    });
  };
  // A target without any result is a note, not a column: what once was skipped would stay one for good. Its host has
  // one all the same, and so has a host whose tasks without target yielded nothing.
  for (const TaskNote& note : results.notes) {
    if (!note.target.empty() && !Wanted(note.host_name, note.target)) continue;
    if (!has_column(note.host, note.run, note.target.empty())) add(note.run, note.host, note.host_name, "", "");
  }
  for (const AskedHost& host : options.hosts) {
    if (!has_column(host.id, 0, false)) add(0, host.id, host.name, "", "");
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
  key.without_target = target.empty();
  key.target = target;
  key.disk = disk;
  return key;
}

std::optional<size_t> Columns::Of(const ResultRow& row) const {
  const auto found = index_.find(KeyOf(row.run, row.host, row.host_name, row.target, row.disk));
  return found == index_.end() ? std::nullopt : std::optional<size_t>(found->second);
}

bool Columns::Concerns(const TaskNote& note, size_t column) const {
  const auto is_its_host = [&](const auto& entry) {
    return entry.first.host == note.host && (!by_run_ || entry.first.run == note.run);
  };
  const auto place = std::find_if(index_.begin(), index_.end(), [&](const auto& e) { return e.second == column; });
  if (place == index_.end() || !is_its_host(*place)) return false;
  if (place->first.target == note.target) return true;
  const bool has_targets = std::any_of(index_.begin(), index_.end(),
                                       [&](const auto& e) { return is_its_host(e) && !e.first.target.empty(); });
  return place->first.target.empty() && !has_targets && Wanted(note.host_name, note.target);
}

}  // namespace fleetmark::collector
