// FleetClient: what the commands ask of a collector. One Call per RPC of FleetService, and WatchRun.
//
// Owned by the command line's context; one thread at a time. Calls end within their deadline (30 s). Errors carry the
// collector's code; UNAVAILABLE means that no collector of the configuration could be reached, and says what was tried.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "common/lifecycle/stop_signal.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

class FleetClient {
 public:
  virtual ~FleetClient() = default;

  virtual absl::Status Call(const v1::GetStatusRequest& request, v1::GetStatusResponse& response) = 0;
  virtual absl::Status Call(const v1::ListHostsRequest& request, v1::ListHostsResponse& response) = 0;
  virtual absl::Status Call(const v1::GetHostRequest& request, v1::GetHostResponse& response) = 0;
  virtual absl::Status Call(const v1::LabelHostRequest& request, v1::LabelHostResponse& response) = 0;
  virtual absl::Status Call(const v1::RenameHostRequest& request, v1::RenameHostResponse& response) = 0;
  virtual absl::Status Call(const v1::RemoveHostRequest& request, v1::RemoveHostResponse& response) = 0;
  virtual absl::Status Call(const v1::CreateInviteRequest& request, v1::CreateInviteResponse& response) = 0;
  virtual absl::Status Call(const v1::ListWorkloadsRequest& request, v1::ListWorkloadsResponse& response) = 0;
  virtual absl::Status Call(const v1::ListSuitesRequest& request, v1::ListSuitesResponse& response) = 0;
  virtual absl::Status Call(const v1::AddSuiteRequest& request, v1::AddSuiteResponse& response) = 0;
  virtual absl::Status Call(const v1::CreateRunRequest& request, v1::CreateRunResponse& response) = 0;
  virtual absl::Status Call(const v1::ListRunsRequest& request, v1::ListRunsResponse& response) = 0;
  virtual absl::Status Call(const v1::GetRunRequest& request, v1::GetRunResponse& response) = 0;
  virtual absl::Status Call(const v1::CancelRunRequest& request, v1::CancelRunResponse& response) = 0;
  virtual absl::Status Call(const v1::CompareRequest& request, v1::CompareResponse& response) = 0;

  // Reads frames until the stream ends (OK: the run is final), breaks (UNAVAILABLE), or `stop` is requested
  // (CANCELLED). `on_frame` is called on this thread, at least every 250 ms: with nullptr when no frame came.
  virtual absl::Status WatchRun(const v1::WatchRunRequest& request, const StopSignal& stop,
                                const std::function<void(const v1::WatchRunResponse*)>& on_frame) = 0;
};

}  // namespace fleetmark::cli
