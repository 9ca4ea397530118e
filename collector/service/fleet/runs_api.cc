#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/scheduler/run_builder.h"
#include "collector/service/fleet/fleet_api.h"
#include "collector/service/present/present.h"
#include "common/pki/identity.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr uint32_t kDefaultRuns = 20;
constexpr uint32_t kMostRuns = 1000;

std::string Spell(const google::protobuf::Map<std::string, std::string>& where) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : where) parts.push_back(absl::StrCat(key, "=", value));
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, " and ");
}

bool HasLabels(const v1::Host& host, const google::protobuf::Map<std::string, std::string>& where) {
  return std::all_of(where.begin(), where.end(), [&](const auto& label) {
    const auto found = host.labels().find(label.first);
    return found != host.labels().end() && found->second == label.second;
  });
}

}  // namespace

absl::StatusOr<std::vector<v1::Host>> FleetApi::ChooseHosts(const v1::CreateRunRequest& request) {
  if (request.hosts_size() > 0 && request.all_hosts()) {
    return absl::InvalidArgumentError("choose either some hosts or all of them");
  }
  if (request.hosts_size() == 0) {
    if (!request.all_hosts() && request.where().empty()) {
      return absl::InvalidArgumentError("no hosts chosen; name some with --hosts, or use --all or --where LABEL=VALUE");
    }
    absl::StatusOr<std::vector<v1::Host>> hosts =
        in_.hosts.ListHosts({request.where().begin(), request.where().end()}, true);
    if (hosts.ok() && hosts->empty()) {
      return absl::NotFoundError(request.where().empty()
                                     ? absl::StrCat(kNothingMatched,
                                                    "the fleet has no hosts yet; `fleetmark hosts "
                                                    "invite` prints a line for a new one")
                                     : absl::StrCat(kNothingMatched, "no host has ", Spell(request.where())));
    }
    return hosts;
  }
  std::vector<v1::Host> chosen;
  std::set<std::string> ids;
  for (const std::string& name : request.hosts()) {
    absl::StatusOr<v1::Host> host = in_.hosts.FindHost(name);
    if (!host.ok()) return host.status();
    if (HasLabels(*host, request.where()) && ids.insert(host->id()).second) chosen.push_back(*std::move(host));
  }
  if (chosen.empty()) {
    return absl::NotFoundError(absl::StrCat(kNothingMatched, "none of these hosts has ", Spell(request.where())));
  }
  return chosen;
}

absl::StatusOr<v1::CreateRunResponse> FleetApi::CreateRun(const Caller& caller, const v1::CreateRunRequest& request) {
  if (CleanUtf8(request.name()) != request.name() || EscapeForTerminal(request.name()) != request.name()) {
    return absl::InvalidArgumentError("a run's name must not have control characters");
  }
  if (!request.request_key().empty() && !IsUuid(request.request_key())) {
    return absl::InvalidArgumentError("the request's key is not a UUID (36 characters, lower case)");
  }
  const absl::StatusOr<std::vector<v1::WorkloadDescriptor>> workloads = FleetWorkloads();
  if (!workloads.ok()) return workloads.status();
  const absl::StatusOr<v1::Suite> suite =
      in_.suites.Find(request.suite().empty() ? "quick" : request.suite(), *workloads);
  if (!suite.ok()) return suite.status();
  absl::StatusOr<std::vector<v1::Host>> chosen = ChooseHosts(request);
  if (!chosen.ok()) return chosen.status();

  // Targets may name a host as FindHost takes it; from here on it has its full name.
  v1::CreateRunRequest named = request;
  for (v1::TargetChoice& choice : *named.mutable_targets()) {
    if (choice.host().empty()) continue;
    const absl::StatusOr<v1::Host> host = in_.hosts.FindHost(choice.host());
    if (!host.ok()) return host.status();
    choice.set_host(host->name());
  }
  std::vector<HostToRun> hosts;
  for (v1::Host& host : *chosen) {
    absl::StatusOr<std::vector<v1::WorkloadDescriptor>> offered = in_.hosts.HostWorkloads(host.id());
    if (!offered.ok() && offered.status().code() != absl::StatusCode::kNotFound) return offered.status();
    hosts.push_back({std::move(host), offered.ok() ? *std::move(offered) : std::vector<v1::WorkloadDescriptor>()});
  }
  absl::StatusOr<RunPlan> plan = BuildRun(named, *suite, hosts, *workloads, caller.name);
  if (!plan.ok()) return plan.status();

  const absl::StatusOr<RunId> id = in_.runs.CreateRun(plan->run);
  if (!id.ok()) return id.status();
  in_.run_changed(*id);
  absl::StatusOr<v1::Run> run = ReadRun(*id);
  if (!run.ok()) return run.status();
  v1::CreateRunResponse response;
  *response.mutable_run() = *std::move(run);
  for (std::string& warning : plan->warnings) response.add_warnings(std::move(warning));
  return response;
}

absl::StatusOr<v1::Run> FleetApi::ReadRun(RunId id) {
  absl::StatusOr<v1::Run> run = in_.runs.GetRun(id);
  if (run.ok()) DescribeRun(*run);
  return run;
}

absl::StatusOr<v1::ListRunsResponse> FleetApi::ListRuns(const Caller&, const v1::ListRunsRequest& request) {
  const uint32_t limit = request.limit() == 0 ? kDefaultRuns : std::min(request.limit(), kMostRuns);
  absl::StatusOr<std::vector<v1::Run>> runs =
      in_.runs.ListRuns(limit, request.has_before_id() ? std::optional<RunId>(request.before_id()) : std::nullopt);
  if (!runs.ok()) return runs.status();
  v1::ListRunsResponse response;
  for (v1::Run& run : *runs) *response.add_runs() = std::move(run);
  return response;
}

absl::StatusOr<v1::GetRunResponse> FleetApi::GetRun(const Caller&, const v1::GetRunRequest& request) {
  RunId id = request.run_id();
  if (!request.has_run_id()) {
    const absl::StatusOr<RunId> newest = in_.runs.NewestRun();
    if (!newest.ok()) return newest.status();
    id = *newest;
  }
  absl::StatusOr<v1::Run> run = ReadRun(id);
  if (!run.ok()) return run.status();
  v1::GetRunResponse response;
  *response.mutable_run() = *std::move(run);
  return response;
}

absl::StatusOr<v1::CancelRunResponse> FleetApi::CancelRun(const Caller& caller, const v1::CancelRunRequest& request) {
  const absl::Status cancelled = in_.runs.CancelRun(request.run_id(), caller.name);
  if (!cancelled.ok()) return cancelled;
  in_.run_changed(request.run_id());
  absl::StatusOr<v1::Run> run = ReadRun(request.run_id());
  if (!run.ok()) return run.status();
  v1::CancelRunResponse response;
  *response.mutable_run() = *std::move(run);
  return response;
}

}  // namespace fleetmark::collector
