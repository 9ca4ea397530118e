#include "agent/workloads/workload.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr char kSkippedPayload[] = "fleetmark/skipped";

const v1::ParameterValue& Present(const std::map<std::string, v1::ParameterValue>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) std::abort();  // a workload asked for a parameter it does not declare
  return found->second;
}

}  // namespace

absl::Status SkippedError(const std::string& reason) {
  absl::Status status = absl::FailedPreconditionError(reason);
  status.SetPayload(kSkippedPayload, absl::Cord());
  return status;
}

bool IsSkipped(const absl::Status& status) { return status.GetPayload(kSkippedPayload).has_value(); }

double WorkContext::Number(const std::string& name) const { return Present(parameters(), name).number(); }
bool WorkContext::Flag(const std::string& name) const { return Present(parameters(), name).flag(); }
const std::string& WorkContext::Text(const std::string& name) const { return Present(parameters(), name).text(); }

absl::StatusOr<const WorkloadEntry*> FindWorkload(const std::vector<WorkloadEntry>& table, const std::string& name,
                                                  uint32_t version) {
  const WorkloadEntry* found = nullptr;
  std::vector<std::string> names;
  for (const WorkloadEntry& entry : table) {
    if (names.empty() || names.back() != entry.descriptor.name()) names.push_back(entry.descriptor.name());
    if (entry.descriptor.name() != name) continue;
    const uint32_t here = entry.descriptor.version();
    if (version == 0 ? found == nullptr || here > found->descriptor.version() : here == version) found = &entry;
  }
  if (found != nullptr) return found;
  for (const std::string& known : names) {
    if (known != name) continue;
    return absl::NotFoundError(absl::StrCat("this agent has workload ", name, " but not in version ", version,
                                            "; update the older of agent and collector"));
  }
  std::string message =
      absl::StrCat("there is no workload \"", EscapeForTerminal(TruncateToWidth(EscapeForTerminal(name), 60)), "\"");
  const std::string nearest = NearestMatch(name, names);
  absl::StrAppend(&message, nearest.empty() ? std::string("; `fleetmark-agent workloads` lists them")
                                            : absl::StrCat("; did you mean ", nearest, "?"));
  return absl::NotFoundError(message);
}

}  // namespace fleetmark::agent
