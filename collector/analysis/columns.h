// Which columns a comparison has, and which of them a result belongs to. Private to collector/analysis.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collector/analysis/comparison.h"

namespace fleetmark::collector {

// "mac-pro ssd", "mac-pro ssd (run 12)": how notes name a column.
std::string ColumnName(const v1::ComparisonColumn& column, bool by_run);

class Columns {
 public:
  Columns(const ResultSet& results, const ComparisonOptions& options);

  const std::vector<v1::ComparisonColumn>& all() const { return columns_; }
  std::vector<v1::ComparisonColumn>& all() { return columns_; }
  bool by_run() const { return by_run_; }

  // Results without a target (memory, CPU) stand in a column of their host that has none. Absent: not wanted.
  std::optional<size_t> Of(const ResultRow& row) const;
  // Whether the note says why this column has no value: of its target, or of its host where that has no targets here.
  bool Concerns(const TaskNote& note, size_t column) const;

 private:
  struct Key {
    size_t order = 0;  // of the host or run, as asked
    std::string host_name;
    HostId host;
    RunId run = 0;                // 0 unless columns are split by run
    bool without_target = false;  // such a column comes after those of its host's targets
    std::string target;
    std::string disk;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes it for 0
  };
  bool Wanted(const std::string& host_name, const std::string& target) const;
  Key KeyOf(RunId run, const HostId& host, const std::string& host_name, const std::string& target,
            const std::string& disk) const;

  const ComparisonOptions& options_;
  const bool by_run_;
  std::map<Key, size_t> index_;
  std::vector<v1::ComparisonColumn> columns_;
};

}  // namespace fleetmark::collector
