#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/analysis/asked.h"
#include "collector/analysis/comparison.h"
#include "collector/scheduler/run_builder.h"
#include "collector/service/fleet/fleet_api.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr int kMostCompared = 1000;

absl::Status CheckWorkloads(const v1::CompareRequest& request, const std::vector<v1::WorkloadDescriptor>& known,
                            const ResultSet& results) {
  std::set<std::string> names;
  for (const v1::WorkloadDescriptor& workload : known) names.insert(workload.name());
  for (const ResultRow& row : results.rows) names.insert(row.workload);
  for (const TaskNote& note : results.notes) names.insert(note.workload);
  const std::vector<std::string> candidates(names.begin(), names.end());
  for (const std::string& name : request.workloads()) {
    if (names.contains(name)) continue;
    const std::string nearest = NearestMatch(name, candidates);
    return absl::NotFoundError(absl::StrCat(
        "no workload \"", name, "\"",
        nearest.empty() ? "; `fleetmark workloads` lists them" : absl::StrCat("; did you mean \"", nearest, "\"?")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::CompareResponse> FleetApi::Compare(const Caller&, const v1::CompareRequest& request) {
  if (request.hosts_size() > kMostCompared || request.run_ids_size() > kMostCompared) {
    return absl::InvalidArgumentError(absl::StrCat("at most ", kMostCompared, " hosts or runs at a time"));
  }
  ResultQuery query;
  ComparisonOptions options;
  options.force = request.force();
  query.workloads = {request.workloads().begin(), request.workloads().end()};
  std::set<HostId> ids;
  for (const std::string& name : request.hosts()) {
    const absl::StatusOr<v1::Host> host = in_.hosts.FindHost(name);
    if (!host.ok()) return host.status();
    if (ids.insert(host->id()).second) options.hosts.push_back({host->id(), host->name()});
  }
  for (const v1::TargetChoice& choice : request.targets()) {
    v1::TargetChoice& named = options.targets.emplace_back(choice);
    if (choice.host().empty()) continue;
    const absl::StatusOr<v1::Host> host = in_.hosts.FindHost(choice.host());
    if (!host.ok()) return host.status();
    named.set_host(host->name());
  }
  for (const int64_t id : request.run_ids()) {
    const absl::StatusOr<v1::Run> run = in_.runs.GetRun(id);
    if (!run.ok()) return run.status();
    if (std::find(query.runs.begin(), query.runs.end(), id) == query.runs.end()) query.runs.push_back(id);
  }
  options.runs = query.runs;
  if (query.runs.empty()) {
    if (options.hosts.empty()) {
      const absl::StatusOr<std::vector<v1::Host>> all = in_.hosts.ListHosts({}, false);
      if (!all.ok()) return all.status();
      for (const v1::Host& host : *all) options.hosts.push_back({host.id(), host.name()});
    }
    for (const AskedHost& host : options.hosts) query.hosts.push_back(host.id);
    if (query.hosts.empty()) return absl::NotFoundError(absl::StrCat(kNothingMatched, "the fleet has no hosts yet"));
  }
  absl::StatusOr<ResultSet> results = in_.results.Query(query);
  if (!results.ok()) return results.status();
  if (!query.runs.empty() && !ids.empty()) {  // of these runs, only these hosts
    std::erase_if(results->rows, [&](const ResultRow& row) { return !ids.contains(row.host); });
    std::erase_if(results->notes, [&](const TaskNote& note) { return !ids.contains(note.host); });
  }
  absl::StatusOr<std::vector<v1::WorkloadDescriptor>> workloads = FleetWorkloads();
  if (!workloads.ok()) return workloads.status();
  if (const absl::Status known = CheckWorkloads(request, *workloads, *results); !known.ok()) return known;
  if (const absl::Status asked = CheckAsked(*results, options); !asked.ok()) return asked;
  options.workloads = *std::move(workloads);
  return CompareResults(*results, options);
}

}  // namespace fleetmark::collector
