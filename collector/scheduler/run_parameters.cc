#include "collector/scheduler/run_parameters.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

bool HasParameter(const v1::WorkloadDescriptor& workload, const std::string& name) {
  return std::any_of(workload.parameters().begin(), workload.parameters().end(),
                     [&](const v1::ParameterDescriptor& parameter) { return parameter.name() == name; });
}

// The workload of the suite whose name `text` starts with; the longest one, since names have dots.
std::optional<std::string> WorkloadOf(const std::string& text, const v1::Suite& suite) {
  std::optional<std::string> found;
  for (const v1::SuiteEntry& entry : suite.entries()) {
    const std::string& name = entry.workload();
    if (text.size() > name.size() + 1 && text.compare(0, name.size(), name) == 0 && text[name.size()] == '.' &&
        (!found || found->size() < name.size())) {
      found = name;
    }
  }
  return found;
}

absl::Status Unknown(const std::string& asked, const v1::Suite& suite,
                     const std::vector<v1::WorkloadDescriptor>& workloads) {
  std::vector<std::string> candidates;
  for (const v1::SuiteEntry& entry : suite.entries()) {
    const v1::WorkloadDescriptor* workload = FindWorkload(workloads, entry.workload(), entry.version());
    if (workload == nullptr) continue;
    for (const v1::ParameterDescriptor& parameter : workload->parameters()) {
      candidates.push_back(absl::StrCat(workload->name(), ".", parameter.name()));
      candidates.push_back(parameter.name());
    }
  }
  const std::string nearest = NearestMatch(asked, candidates);
  return absl::InvalidArgumentError(absl::StrCat(
      "no parameter \"", asked, "\" in suite ", suite.name(),
      nearest.empty() ? "; `fleetmark workloads` lists them" : absl::StrCat("; did you mean \"", nearest, "\"?")));
}

// One parameter under its two names: neither may win silently.
absl::Status Assign(const std::string& workload, const std::string& parameter, const std::string& text,
                    AskedParameters& assigned) {
  if (assigned[workload].emplace(parameter, text).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--set sets '", parameter, "' twice, as ", parameter, " and as ",
                                                 workload, ".", parameter, "; leave one of them out"));
}

}  // namespace

const v1::WorkloadDescriptor* FindWorkload(const std::vector<v1::WorkloadDescriptor>& workloads,
                                           const std::string& name, uint32_t version) {
  const v1::WorkloadDescriptor* found = nullptr;
  for (const v1::WorkloadDescriptor& workload : workloads) {
    if (workload.name() != name) continue;
    if (version != 0 && workload.version() != version) continue;
    if (found == nullptr || workload.version() > found->version()) found = &workload;
  }
  return found;
}

absl::StatusOr<AskedParameters> AssignParameters(const std::map<std::string, std::string>& asked,
                                                 const v1::Suite& suite,
                                                 const std::vector<v1::WorkloadDescriptor>& workloads) {
  AskedParameters assigned;
  for (const auto& [key, text] : asked) {
    if (const std::optional<std::string> name = WorkloadOf(key, suite)) {
      const std::string parameter = key.substr(name->size() + 1);
      const bool known = std::any_of(workloads.begin(), workloads.end(), [&](const v1::WorkloadDescriptor& workload) {
        return workload.name() == *name && HasParameter(workload, parameter);
      });
      if (!known) return Unknown(key, suite, workloads);
      if (const absl::Status status = Assign(*name, parameter, text, assigned); !status.ok()) return status;
      continue;
    }
    std::set<std::string> meant;
    for (const v1::SuiteEntry& entry : suite.entries()) {
      const v1::WorkloadDescriptor* workload = FindWorkload(workloads, entry.workload(), entry.version());
      if (workload != nullptr && HasParameter(*workload, key)) meant.insert(entry.workload());
    }
    if (meant.empty()) return Unknown(key, suite, workloads);
    if (meant.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("parameter \"", key, "\" could mean that of ",
                                                     absl::StrJoin(meant, " or "), "; write ", *meant.begin(), ".",
                                                     key));
    }
    if (const absl::Status status = Assign(*meant.begin(), key, text, assigned); !status.ok()) return status;
  }
  return assigned;
}

absl::StatusOr<ParameterMap> ParametersOf(const v1::SuiteEntry& entry, const AskedParameters& asked,
                                          const v1::WorkloadDescriptor& workload) {
  std::map<std::string, std::string> texts(entry.parameters().begin(), entry.parameters().end());
  if (const auto found = asked.find(entry.workload()); found != asked.end()) {
    for (const auto& [name, text] : found->second) texts[name] = text;
  }
  ParameterMap given;
  for (const auto& [name, text] : texts) {
    const absl::StatusOr<const v1::ParameterDescriptor*> parameter = FindParameter(workload, name);
    if (!parameter.ok()) return parameter.status();
    absl::StatusOr<v1::ParameterValue> value = ParseParameter(**parameter, text);
    if (!value.ok()) return value.status();
    given[name] = *std::move(value);
  }
  return ResolveParameters(workload, given);
}

}  // namespace fleetmark::collector
