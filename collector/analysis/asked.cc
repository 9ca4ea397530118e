#include "collector/analysis/asked.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/analysis/notes.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMostListed = 8;

// ": mac-pro ssd, disk.profile: skipped: target is in memory, and 2 more"; "" without notes.
std::string FirstReason(const std::vector<TaskNote>& notes) {
  if (notes.empty()) return "";
  std::string text = absl::StrCat(": ", DescribeTasks({notes.front()}, false).front());
  if (notes.size() > 1) absl::StrAppend(&text, ", and ", notes.size() - 1, " more");
  return text;
}

absl::Status NoResults(const ResultSet& results, const ComparisonOptions& options) {
  if (!options.runs.empty()) {
    const std::string runs =
        absl::StrCat(options.runs.size() == 1 ? "run " : "runs ", absl::StrJoin(options.runs, ", "),
                     options.runs.size() == 1 ? " has" : " have");
    return absl::NotFoundError(absl::StrCat(runs, " no results to compare", FirstReason(results.notes),
                                            "; `fleetmark runs show ", options.runs.front(), "` lists the tasks"));
  }
  if (results.notes.empty()) {
    return absl::NotFoundError("nothing matched: no results yet; `fleetmark run quick` makes some");
  }
  return absl::NotFoundError(
      absl::StrCat("nothing matched: no results", FirstReason(results.notes), "; `fleetmark run quick` makes some"));
}

absl::Status CheckTarget(const v1::TargetChoice& choice, const ResultSet& results) {
  const auto is_asked = [&](const auto& entry) { return choice.host().empty() || choice.host() == entry.host_name; };
  std::set<std::string> measured;
  for (const ResultRow& row : results.rows) {
    if (is_asked(row) && !row.target.empty()) measured.insert(row.target);
  }
  if (measured.contains(choice.target())) return absl::OkStatus();
  const std::string what = absl::StrCat("no results of target \"", choice.target(), "\"",
                                        choice.host().empty() ? "" : absl::StrCat(" on ", choice.host()));
  std::vector<TaskNote> reasons;
  for (const TaskNote& note : results.notes) {
    if (is_asked(note) && note.target == choice.target()) reasons.push_back(note);
  }
  if (!reasons.empty()) {
    return absl::NotFoundError(absl::StrCat(what, FirstReason(reasons), "; leave out --target ", choice.target(),
                                            ", or measure it with `fleetmark run`"));
  }
  if (measured.empty()) {
    return absl::NotFoundError(absl::StrCat(what, ", nor of any other; leave out --target"));
  }
  const std::vector<std::string> names(measured.begin(), measured.end());
  const std::string nearest = NearestMatch(choice.target(), names);
  if (!nearest.empty()) return absl::NotFoundError(absl::StrCat(what, "; did you mean \"", nearest, "\"?"));
  const size_t listed = std::min(names.size(), kMostListed);
  return absl::NotFoundError(absl::StrCat(what, "; there are some of ",
                                          absl::StrJoin(names.begin(), names.begin() + static_cast<long>(listed), ", "),
                                          listed < names.size() ? ", ..." : ""));
}

}  // namespace

absl::Status CheckAsked(const ResultSet& results, const ComparisonOptions& options) {
  if (results.rows.empty() && (options.targets.empty() || results.notes.empty())) return NoResults(results, options);
  for (const v1::TargetChoice& choice : options.targets) {
    if (absl::Status status = CheckTarget(choice, results); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
