#include "collector/service/fleet/fleet_service.h"

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/service/fleet/watch_stream.h"
#include "collector/service/peer/peer_identity.h"
#include "common/rpc/status.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::collector {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

struct Admitted {
  Caller caller;
  std::string serial;
};

absl::StatusOr<Admitted> AdmitCaller(const Context& context, std::string_view method) {
  const absl::StatusOr<Peer> peer = PeerOf(context);
  if (!peer.ok()) return peer.status();
  absl::StatusOr<Caller> caller = CallerOf(*peer);
  if (!caller.ok()) return caller.status();
  if (const absl::Status allowed = CheckRole(*caller, method); !allowed.ok()) return allowed;
  return Admitted{*std::move(caller), peer->certificate_serial_hex};
}

class FleetServiceImpl final : public v1::FleetService::CallbackService {
 public:
  FleetServiceImpl(FleetApi& api, WatchHub& watches, TrustStore& trust, ShardedWorkers& workers)
      : api_(api), watches_(watches), trust_(trust), workers_(workers) {}

  Unary* GetStatus(Context* context, const v1::GetStatusRequest* request, v1::GetStatusResponse* response) override {
    // Not to a worker thread: it must answer while they all wait for the database.
    Unary* reactor = context->DefaultReactor();
    const absl::StatusOr<Admitted> admitted = AdmitCaller(*context, "GetStatus");
    if (admitted.ok()) *response = *api_.GetStatus(admitted->caller, *request);
    reactor->Finish(ToGrpcStatus(admitted.status()));
    return reactor;
  }

#define FLEETMARK_UNARY(Method)                                                                                  \
  Unary* Method(Context* context, const v1::Method##Request* request, v1::Method##Response* response) override { \
    return Handle(context, #Method, *request, *response, &FleetApi::Method);                                     \
  }
  FLEETMARK_UNARY(ListHosts)
  FLEETMARK_UNARY(GetHost)
  FLEETMARK_UNARY(LabelHost)
  FLEETMARK_UNARY(RenameHost)
  FLEETMARK_UNARY(RemoveHost)
  FLEETMARK_UNARY(CreateInvite)
  FLEETMARK_UNARY(ListWorkloads)
  FLEETMARK_UNARY(ListSuites)
  FLEETMARK_UNARY(AddSuite)
  FLEETMARK_UNARY(CreateRun)
  FLEETMARK_UNARY(ListRuns)
  FLEETMARK_UNARY(GetRun)
  FLEETMARK_UNARY(CancelRun)
  FLEETMARK_UNARY(Compare)
#undef FLEETMARK_UNARY

  grpc::ServerWriteReactor<v1::WatchRunResponse>* WatchRun(Context* context,
                                                           const v1::WatchRunRequest* request) override {
    const absl::StatusOr<Admitted> admitted = AdmitCaller(*context, "WatchRun");
    if (!admitted.ok()) return NewFailedWatchStream(admitted.status());
    return NewWatchStream(
        [this, run = request->run_id()](const std::shared_ptr<RunWatcher>& watcher) { watches_.Add(run, watcher); });
  }

 private:
  template <typename Request, typename Response>
  Unary* Handle(Context* context, const char* method, const Request& request, Response& response,
                absl::StatusOr<Response> (FleetApi::*call)(const Caller&, const Request&)) {
    Unary* reactor = context->DefaultReactor();
    absl::StatusOr<Admitted> admitted = AdmitCaller(*context, method);
    if (!admitted.ok()) {
      reactor->Finish(ToGrpcStatus(admitted.status()));
      return reactor;
    }
    // The request and the response live until Finish.
    const auto job = [this, context, reactor, &request, &response, call, admitted = *std::move(admitted)] {
      reactor->Finish(ToGrpcStatus(Answer(*context, admitted, request, response, call)));
    };
    if (!workers_.Post(absl::StrCat(next_++), job)) {
      reactor->Finish(ToGrpcStatus(absl::UnavailableError("the collector is stopping; ask again")));
    }
    return reactor;
  }

  template <typename Request, typename Response>
  absl::Status Answer(const Context& context, const Admitted& admitted, const Request& request, Response& response,
                      absl::StatusOr<Response> (FleetApi::*call)(const Caller&, const Request&)) {
    if (context.IsCancelled()) return absl::CancelledError("the caller has gone");
    const absl::StatusOr<bool> revoked = trust_.IsRevoked(admitted.serial);
    if (!revoked.ok()) return revoked.status();
    if (*revoked) {
      return absl::PermissionDeniedError(absl::StrCat("the certificate of ", admitted.caller.name, " was revoked"));
    }
    absl::StatusOr<Response> answer = (api_.*call)(admitted.caller, request);
    if (!answer.ok()) return answer.status();
    response = *std::move(answer);
    return absl::OkStatus();
  }

  FleetApi& api_;
  WatchHub& watches_;
  TrustStore& trust_;
  ShardedWorkers& workers_;
  std::atomic<uint64_t> next_{0};
};

}  // namespace

ServicePointer MakeFleetService(FleetApi& api, WatchHub& watches, TrustStore& trust, ShardedWorkers& workers) {
  return ServicePointer(new FleetServiceImpl(api, watches, trust, workers));
}

}  // namespace fleetmark::collector
