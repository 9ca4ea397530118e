#include "collector/suites/suite_catalog.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/suites/shipped.h"
#include "collector/suites/suite_check.h"
#include "common/log/log.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

const v1::Suite* FindIn(const std::vector<v1::Suite>& suites, const std::string& name, uint32_t version) {
  const v1::Suite* found = nullptr;
  for (const v1::Suite& suite : suites) {
    if (suite.name() != name || (version != 0 && suite.version() != version)) continue;
    if (found == nullptr || suite.version() > found->version()) found = &suite;
  }
  return found;
}

}  // namespace

SuiteCatalog::SuiteCatalog(SuiteStore& store) : store_(store) {
  for (const SuiteFile& file : ShippedSuiteFiles()) {
    absl::StatusOr<v1::Suite> suite = ParseSuite(file.text, file.name, {});
    if (!suite.ok()) {  // a test reads every shipped file: this cannot happen to a user
      LogError("suites", std::string(suite.status().message()));
      continue;
    }
    shipped_.push_back(*std::move(suite));
  }
  // The default first, the others by name.
  std::stable_sort(shipped_.begin(), shipped_.end(), [](const v1::Suite& a, const v1::Suite& b) {
    return std::make_pair(a.name() != "quick", a.name()) < std::make_pair(b.name() != "quick", b.name());
  });
}

absl::StatusOr<std::vector<v1::Suite>> SuiteCatalog::List() {
  absl::StatusOr<std::vector<v1::Suite>> added = store_.ListSuites();
  if (!added.ok()) return added.status();
  std::vector<v1::Suite> all = shipped_;
  for (const v1::Suite& suite : *added) {
    if (FindIn(*added, suite.name(), 0) == &suite) all.push_back(suite);
  }
  return all;
}

absl::StatusOr<v1::Suite> SuiteCatalog::Find(const std::string& name,
                                             const std::vector<v1::WorkloadDescriptor>& workloads) {
  std::string plain = name;
  uint32_t version = 0;
  if (const size_t at = name.rfind('@'); at != std::string::npos) {
    plain = name.substr(0, at);
    if (!absl::SimpleAtoi(name.substr(at + 1), &version) || version == 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\": what follows @ must be a version, such as @1"));
    }
  }
  if (const v1::Suite* suite = FindIn(shipped_, plain, version)) return *suite;
  const absl::StatusOr<std::vector<v1::Suite>> added = store_.ListSuites();
  if (!added.ok()) return added.status();
  if (const v1::Suite* suite = FindIn(*added, plain, version)) return *suite;

  std::vector<std::string> names;
  for (const v1::Suite& suite : shipped_) names.push_back(suite.name());
  for (const v1::Suite& suite : *added) names.push_back(suite.name());
  std::optional<v1::Suite> single;
  for (const v1::WorkloadDescriptor& workload : workloads) {
    names.push_back(workload.name());
    if (workload.name() != plain || (version != 0 && workload.version() != version)) continue;
    if (single.has_value() && single->version() >= workload.version()) continue;
    single.emplace();
    single->set_name(workload.name());
    single->set_version(workload.version());
    single->set_description(workload.description());
    v1::SuiteEntry& entry = *single->add_entries();
    entry.set_workload(workload.name());
    entry.set_version(version);
  }
  if (single.has_value()) return *std::move(single);
  const std::string nearest = NearestMatch(plain, names);
  return absl::NotFoundError(absl::StrCat("no suite or workload \"", name, "\"",
                                          nearest.empty() ? "; `fleetmark suites` and `fleetmark workloads` list them"
                                                          : absl::StrCat("; did you mean \"", nearest, "\"?")));
}

absl::StatusOr<v1::Suite> SuiteCatalog::Add(const std::string& text, const std::string& file_name,
                                            const std::vector<v1::WorkloadDescriptor>& workloads,
                                            const std::string& who) {
  absl::StatusOr<v1::Suite> suite = ParseSuite(text, file_name.empty() ? "suite" : file_name, workloads);
  if (!suite.ok()) return suite.status();
  if (FindIn(shipped_, suite->name(), 0) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat("suite ", suite->name(), " is shipped with the collector; choose another name"));
  }
  for (const v1::WorkloadDescriptor& workload : workloads) {
    if (workload.name() != suite->name()) continue;
    return absl::AlreadyExistsError(absl::StrCat(suite->name(), " is a workload's name; choose another for the suite"));
  }
  const absl::StatusOr<std::vector<v1::Suite>> added = store_.ListSuites();
  if (!added.ok()) return added.status();
  // Runs name the suite they measured by its version: what stood under it stays.
  if (const v1::Suite* there = FindIn(*added, suite->name(), 0); there != nullptr) {
    const bool same =
        there->version() == suite->version() && google::protobuf::util::MessageDifferencer::Equals(*there, *suite);
    if (!same && suite->version() <= there->version()) {
      return absl::AlreadyExistsError(
          absl::StrCat("suite ", suite->name(), "@", there->version(),
                       " is there already; give the changed text version: ", there->version() + 1));
    }
  }
  if (const absl::Status stored = store_.PutSuite(*suite, text, who); !stored.ok()) return stored;
  return suite;
}

}  // namespace fleetmark::collector
