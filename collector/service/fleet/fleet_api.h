// FleetApi: what a person may ask of the fleet, without gRPC: one method per call of FleetService. Each checks the
// request, asks the cores and converts back.
//
// Owned by the collector. Thread-safe; all but GetStatus block on the database.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/registry/agent_registry.h"
#include "collector/service/fleet/roles.h"
#include "collector/store/host_store.h"
#include "collector/store/result_store.h"
#include "collector/store/run_store.h"
#include "collector/suites/suite_catalog.h"

namespace fleetmark::collector {

struct FleetDependencies {
  HostStore& hosts;
  RunStore& runs;
  ResultStore& results;
  SuiteCatalog& suites;
  AgentRegistry& registry;
  std::function<absl::Status()> database_status;  // must not block
  std::function<absl::StatusOr<v1::CreateInviteResponse>(const v1::CreateInviteRequest&, const std::string& who)>
      invite;
  std::function<void(RunId)> run_changed;  // created or cancelled
  std::function<void(const HostId&)> host_removed;
  std::string collector_id;
  std::string version;
};

class FleetApi {
 public:
  explicit FleetApi(FleetDependencies dependencies) : in_(std::move(dependencies)) {}

  absl::StatusOr<v1::GetStatusResponse> GetStatus(const Caller& caller, const v1::GetStatusRequest& request);

  // hosts_api.cc
  absl::StatusOr<v1::ListHostsResponse> ListHosts(const Caller& caller, const v1::ListHostsRequest& request);
  absl::StatusOr<v1::GetHostResponse> GetHost(const Caller& caller, const v1::GetHostRequest& request);
  absl::StatusOr<v1::LabelHostResponse> LabelHost(const Caller& caller, const v1::LabelHostRequest& request);
  absl::StatusOr<v1::RenameHostResponse> RenameHost(const Caller& caller, const v1::RenameHostRequest& request);
  absl::StatusOr<v1::RemoveHostResponse> RemoveHost(const Caller& caller, const v1::RemoveHostRequest& request);
  absl::StatusOr<v1::CreateInviteResponse> CreateInvite(const Caller& caller, const v1::CreateInviteRequest& request);

  // catalog_api.cc
  absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads(const Caller& caller,
                                                          const v1::ListWorkloadsRequest& request);
  absl::StatusOr<v1::ListSuitesResponse> ListSuites(const Caller& caller, const v1::ListSuitesRequest& request);
  absl::StatusOr<v1::AddSuiteResponse> AddSuite(const Caller& caller, const v1::AddSuiteRequest& request);

  // runs_api.cc
  absl::StatusOr<v1::CreateRunResponse> CreateRun(const Caller& caller, const v1::CreateRunRequest& request);
  absl::StatusOr<v1::ListRunsResponse> ListRuns(const Caller& caller, const v1::ListRunsRequest& request);
  absl::StatusOr<v1::GetRunResponse> GetRun(const Caller& caller, const v1::GetRunRequest& request);
  absl::StatusOr<v1::CancelRunResponse> CancelRun(const Caller& caller, const v1::CancelRunRequest& request);

  // compare_api.cc
  absl::StatusOr<v1::CompareResponse> Compare(const Caller& caller, const v1::CompareRequest& request);

 private:
  // Every workload that any agent of the fleet offers.
  absl::StatusOr<std::vector<v1::WorkloadDescriptor>> FleetWorkloads();
  absl::StatusOr<std::vector<v1::Host>> ChooseHosts(const v1::CreateRunRequest& request);
  absl::StatusOr<v1::Run> ReadRun(RunId run);

  const FleetDependencies in_;
};

}  // namespace fleetmark::collector
