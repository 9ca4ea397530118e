#include "collector/service/agent/agent_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/registry/agent_link.h"
#include "collector/service/agent/agent_stream.h"
#include "collector/service/peer/peer_identity.h"
#include "common/rpc/handover.h"
#include "common/rpc/status.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::collector {
namespace {

// A stream that is refused before it has a session.
class RefusedStream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage> {
 public:
  explicit RefusedStream(const absl::Status& status) {
    GivenToGrpc(this);
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override {
    LastReaction(this);
    delete this;
  }
};

absl::Status MustBeHost(const Peer& peer) {
  if (peer.identity.kind == IdentityKind::kHost) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("this is for hosts; the certificate is that of ",
                                                  ToUri(peer.identity),
                                                  "; enrol this machine with a line of `fleetmark hosts invite`"));
}

class AgentServiceImpl final : public v1::AgentService::CallbackService {
 public:
  AgentServiceImpl(const SessionContext& context, AgentSessions& sessions, Authority& authority)
      : context_(context), sessions_(sessions), authority_(authority) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>* Connect(
      grpc::CallbackServerContext* context) override {
    absl::StatusOr<Peer> peer = PeerOf(*context);
    if (!peer.ok()) return new RefusedStream(peer.status());
    if (const absl::Status status = MustBeHost(*peer); !status.ok()) return new RefusedStream(status);
    return new AgentStream(context, context_, sessions_, *std::move(peer));
  }

  grpc::ServerUnaryReactor* RenewCertificate(grpc::CallbackServerContext* context,
                                             const v1::RenewCertificateRequest* request,
                                             v1::RenewCertificateResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    absl::StatusOr<Peer> peer = PeerOf(*context);
    absl::Status status = peer.status();
    if (status.ok()) status = MustBeHost(*peer);
    if (!status.ok()) {
      reactor->Finish(ToGrpcStatus(status));
      return reactor;
    }
    const bool posted = context_.workers.Post(peer->identity.id, [this, reactor, request, response, peer = *peer] {
      reactor->Finish(ToGrpcStatus(Renew(peer, *request, *response)));
    });
    if (!posted) reactor->Finish(ToGrpcStatus(absl::UnavailableError("the collector is stopping; ask again")));
    return reactor;
  }

 private:
  absl::Status Renew(const Peer& peer, const v1::RenewCertificateRequest& request,
                     v1::RenewCertificateResponse& response) {
    const absl::StatusOr<bool> revoked = context_.trust.IsRevoked(peer.certificate_serial_hex);
    if (!revoked.ok()) return revoked.status();
    const absl::StatusOr<bool> removed = context_.hosts.IsRemoved(peer.identity.id);
    if (!removed.ok()) return removed.status();
    if (*revoked || *removed) {
      return absl::PermissionDeniedError(absl::StrCat("this host was removed from the fleet; ", kHowToEnrolAgain));
    }
    absl::StatusOr<IssuedCertificate> issued =
        authority_.RenewCertificate(peer.identity, request.certificate_request_der(), ToUri(peer.identity));
    if (!issued.ok()) return issued.status();
    response.set_certificate_chain_pem(std::move(issued->pem));
    return absl::OkStatus();
  }

  const SessionContext& context_;
  AgentSessions& sessions_;
  Authority& authority_;
};

}  // namespace

ServicePointer MakeAgentService(const SessionContext& context, AgentSessions& sessions, Authority& authority) {
  return ServicePointer(new AgentServiceImpl(context, sessions, authority));
}

}  // namespace fleetmark::collector
