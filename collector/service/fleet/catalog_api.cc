#include <utility>

#include "collector/service/fleet/fleet_api.h"

namespace fleetmark::collector {

absl::StatusOr<v1::GetStatusResponse> FleetApi::GetStatus(const Caller&, const v1::GetStatusRequest&) {
  v1::GetStatusResponse response;
  response.set_collector_id(in_.collector_id);
  response.set_version(in_.version);
  const absl::Status database = in_.database_status();
  response.set_database_up(database.ok());
  if (!database.ok()) response.set_database_problem(std::string(database.message()));
  response.set_connected_agents(static_cast<uint32_t>(in_.registry.size()));
  return response;
}

absl::StatusOr<std::vector<v1::WorkloadDescriptor>> FleetApi::FleetWorkloads() {
  absl::StatusOr<std::vector<v1::OfferedWorkload>> offered = in_.hosts.OfferedWorkloads();
  if (!offered.ok()) return offered.status();
  std::vector<v1::WorkloadDescriptor> workloads;
  for (v1::OfferedWorkload& entry : *offered) workloads.push_back(std::move(*entry.mutable_workload()));
  return workloads;
}

absl::StatusOr<v1::ListWorkloadsResponse> FleetApi::ListWorkloads(const Caller&, const v1::ListWorkloadsRequest&) {
  absl::StatusOr<std::vector<v1::OfferedWorkload>> offered = in_.hosts.OfferedWorkloads();
  if (!offered.ok()) return offered.status();
  v1::ListWorkloadsResponse response;
  for (v1::OfferedWorkload& entry : *offered) *response.add_workloads() = std::move(entry);
  return response;
}

absl::StatusOr<v1::ListSuitesResponse> FleetApi::ListSuites(const Caller&, const v1::ListSuitesRequest&) {
  absl::StatusOr<std::vector<v1::Suite>> suites = in_.suites.List();
  if (!suites.ok()) return suites.status();
  v1::ListSuitesResponse response;
  for (v1::Suite& suite : *suites) *response.add_suites() = std::move(suite);
  return response;
}

absl::StatusOr<v1::AddSuiteResponse> FleetApi::AddSuite(const Caller& caller, const v1::AddSuiteRequest& request) {
  const absl::StatusOr<std::vector<v1::WorkloadDescriptor>> workloads = FleetWorkloads();
  if (!workloads.ok()) return workloads.status();
  absl::StatusOr<v1::Suite> suite = in_.suites.Add(request.text(), request.file_name(), *workloads, caller.name);
  if (!suite.ok()) return suite.status();
  v1::AddSuiteResponse response;
  *response.mutable_suite() = *std::move(suite);
  return response;
}

}  // namespace fleetmark::collector
