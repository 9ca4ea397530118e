#include "collector/suites/suite_check.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/text_proto.h"
#include "common/parameters/parameters.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kMostBytes = size_t{256} << 10;
constexpr int kMostEntries = 200;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

absl::Status CheckEntry(const v1::SuiteEntry& entry, const std::vector<v1::WorkloadDescriptor>& workloads) {
  const v1::WorkloadDescriptor* found = nullptr;
  std::vector<std::string> names;
  std::set<uint32_t> versions;
  for (const v1::WorkloadDescriptor& workload : workloads) {
    names.push_back(workload.name());
    if (workload.name() != entry.workload()) continue;
    versions.insert(workload.version());
    if (entry.version() != 0 && workload.version() != entry.version()) continue;
    if (found == nullptr || workload.version() > found->version()) found = &workload;
  }
  if (versions.empty()) {
    const std::string nearest = NearestMatch(entry.workload(), names);
    return absl::InvalidArgumentError(absl::StrCat(
        "no agent offers a workload \"", entry.workload(), "\"",
        nearest.empty() ? "; `fleetmark workloads` lists them" : absl::StrCat("; did you mean \"", nearest, "\"?")));
  }
  if (found == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no agent offers ", entry.workload(), " version ", entry.version(),
                                                   "; there is ", absl::StrJoin(versions, ", ")));
  }
  ParameterMap given;
  for (const auto& [name, text] : entry.parameters()) {
    const absl::StatusOr<const v1::ParameterDescriptor*> parameter = FindParameter(*found, name);
    if (!parameter.ok()) return parameter.status();
    absl::StatusOr<v1::ParameterValue> value = ParseParameter(**parameter, text);
    if (!value.ok()) return value.status();
    given[name] = *std::move(value);
  }
  const absl::StatusOr<ParameterMap> resolved = ResolveParameters(*found, given);
  if (!resolved.ok()) return resolved.status();
  return MergeRepetitionRules(found->repetition_rule(), entry.repetitions()).status();
}

}  // namespace

absl::StatusOr<v1::Suite> ParseSuite(const std::string& text, const std::string& file_name,
                                     const std::vector<v1::WorkloadDescriptor>& workloads) {
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": a suite has at most ", kMostBytes, " bytes"));
  }
  v1::Suite suite;
  if (const absl::Status parsed = ParseTextProto(text, file_name, suite); !parsed.ok()) return parsed;
  const auto bad = [&](const std::string& reason) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": ", reason));
  };
  if (!IsName(suite.name())) {
    return bad("a suite needs a name of at most 64 characters from a-z, 0-9, '.', '-' and '_', such as name: \"mine\"");
  }
  if (suite.version() == 0) return bad("a suite needs a version from 1, such as version: 1");
  if (suite.entries_size() == 0) return bad("a suite needs entries, such as entries { workload: \"host.clock\" }");
  if (suite.entries_size() > kMostEntries) return bad(absl::StrCat("a suite has at most ", kMostEntries, " entries"));
  if (suite.has_quiet_wait_seconds() && !(suite.quiet_wait_seconds() >= 0 && suite.quiet_wait_seconds() <= 3600)) {
    return bad("quiet_wait_seconds must be between 0 and 3600");
  }
  for (int i = 0; i < suite.entries_size(); ++i) {
    if (suite.entries(i).workload().empty()) return bad(absl::StrCat("entry ", i + 1, " names no workload"));
    if (workloads.empty()) continue;
    if (const absl::Status checked = CheckEntry(suite.entries(i), workloads); !checked.ok()) {
      return bad(
          absl::StrCat("entry ", i + 1, " (", suite.entries(i).workload(), "): ", std::string(checked.message())));
    }
  }
  return suite;
}

}  // namespace fleetmark::collector
