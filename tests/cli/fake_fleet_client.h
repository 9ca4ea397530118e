// A collector for tests of the commands: answers are set by the test; a request without one is UNIMPLEMENTED.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/client/fleet_client.h"

namespace fleetmark::cli {

class FakeFleetClient : public FleetClient {
 public:
  std::map<std::string, absl::Status> failures;  // by request's name: "ListHostsRequest"

  v1::ListHostsResponse hosts;
  v1::Host host;
  v1::Run run;
  v1::ListRunsResponse runs;
  v1::CompareResponse comparison;
  v1::CreateInviteResponse invite;
  v1::CreateRunResponse created;
  v1::ListWorkloadsResponse workloads;
  v1::ListSuitesResponse suites;

  v1::CreateRunRequest last_create;
  v1::CompareRequest last_compare;
  v1::LabelHostRequest last_label;
  std::vector<int64_t> cancelled;

  // What WatchRun does, one entry a call: frames, then the status. The last entry is repeated.
  struct Watch {
    std::vector<v1::WatchRunResponse> frames;
    absl::Status status;
    std::function<void()> before_end;
  };
  std::deque<Watch> watches;

  absl::Status Call(const v1::GetStatusRequest& q, v1::GetStatusResponse& a) override {
    a.set_database_up(true);
    return Failure(q);
  }
  absl::Status Call(const v1::ListHostsRequest& q, v1::ListHostsResponse& a) override { return Give(q, hosts, a); }
  absl::Status Call(const v1::GetHostRequest& q, v1::GetHostResponse& a) override {
    return Give(q, host, *a.mutable_host());
  }
  absl::Status Call(const v1::LabelHostRequest& q, v1::LabelHostResponse& a) override {
    last_label = q;
    return Give(q, host, *a.mutable_host());
  }
  absl::Status Call(const v1::RenameHostRequest& q, v1::RenameHostResponse& a) override {
    return Give(q, host, *a.mutable_host());
  }
  absl::Status Call(const v1::RemoveHostRequest& q, v1::RemoveHostResponse& a) override {
    return Give(q, host, *a.mutable_host());
  }
  absl::Status Call(const v1::CreateInviteRequest& q, v1::CreateInviteResponse& a) override {
    return Give(q, invite, a);
  }
  absl::Status Call(const v1::ListWorkloadsRequest& q, v1::ListWorkloadsResponse& a) override {
    return Give(q, workloads, a);
  }
  absl::Status Call(const v1::ListSuitesRequest& q, v1::ListSuitesResponse& a) override { return Give(q, suites, a); }
  absl::Status Call(const v1::AddSuiteRequest& q, v1::AddSuiteResponse&) override { return Failure(q); }
  absl::Status Call(const v1::CreateRunRequest& q, v1::CreateRunResponse& a) override {
    last_create = q;
    return Give(q, created, a);
  }
  absl::Status Call(const v1::ListRunsRequest& q, v1::ListRunsResponse& a) override { return Give(q, runs, a); }
  absl::Status Call(const v1::GetRunRequest& q, v1::GetRunResponse& a) override {
    return Give(q, run, *a.mutable_run());
  }
  absl::Status Call(const v1::CancelRunRequest& q, v1::CancelRunResponse& a) override {
    cancelled.push_back(q.run_id());
    return Give(q, run, *a.mutable_run());
  }
  absl::Status Call(const v1::CompareRequest& q, v1::CompareResponse& a) override {
    last_compare = q;
    return Give(q, comparison, a);
  }

  absl::Status WatchRun(const v1::WatchRunRequest&, const StopSignal& stop,
                        const std::function<void(const v1::WatchRunResponse*)>& on_frame) override {
    if (watches.empty()) return absl::UnimplementedError("no watch");
    const Watch watch = watches.front();
    if (watches.size() > 1) watches.pop_front();
    for (const v1::WatchRunResponse& frame : watch.frames) on_frame(&frame);
    if (watch.before_end) watch.before_end();
    if (stop.requested()) return absl::CancelledError("stopped watching");
    return watch.status;
  }

 private:
  absl::Status Failure(const google::protobuf::Message& request) {
    const auto found = failures.find(std::string(request.GetDescriptor()->name()));
    return found == failures.end() ? absl::OkStatus() : found->second;
  }
  template <typename Message>
  absl::Status Give(const google::protobuf::Message& request, const Message& answer, Message& into) {
    into = answer;
    return Failure(request);
  }
};

}  // namespace fleetmark::cli
