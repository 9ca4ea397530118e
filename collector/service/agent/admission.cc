#include "collector/service/agent/admission.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/registry/agent_link.h"
#include "common/log/log.h"

namespace fleetmark::collector {
namespace {

v1::Refusal Refuse(v1::RefusalReason reason, std::string message, std::optional<double> retry_after = std::nullopt) {
  v1::Refusal refusal;
  refusal.set_reason(reason);
  refusal.set_message(std::move(message));
  if (retry_after.has_value()) refusal.set_retry_after_seconds(*retry_after);
  return refusal;
}

v1::Refusal RefuseForNow(const std::string& what, const absl::Status& status) {
  return Refuse(v1::REFUSAL_REASON_OVERLOADED,
                absl::StrCat("the collector cannot ", what, " just now: ", std::string(status.message()),
                             "; keep your results and come back"),
                5.0);
}

std::optional<v1::Refusal> CheckIdentity(const Peer& peer, const v1::Hello& hello) {
  if (peer.identity.kind == IdentityKind::kHost && peer.identity.id == hello.host_id()) return std::nullopt;
  return Refuse(v1::REFUSAL_REASON_NOT_A_HOST,
                absl::StrCat("the agent says it is host ", hello.host_id(), ", but its certificate is that of ",
                             ToUri(peer.identity), "; enrol this machine with a line of `fleetmark hosts invite`"));
}

std::optional<v1::Refusal> CheckProtocol(const SessionContext& context, const v1::Hello& hello) {
  if (hello.protocol_minimum() <= kProtocolMaximum && hello.protocol_maximum() >= kProtocolMinimum) return std::nullopt;
  const bool agent_is_older = hello.protocol_maximum() < kProtocolMinimum;
  return Refuse(
      v1::REFUSAL_REASON_PROTOCOL,
      absl::StrCat("no common protocol version: agent ", hello.agent_version(), " speaks ", hello.protocol_minimum(),
                   " to ", hello.protocol_maximum(), ", collector ", context.version, " speaks ", kProtocolMinimum,
                   " to ", kProtocolMaximum, "; upgrade the ", agent_is_older ? "agent" : "collector"),
      300.0);
}

std::optional<v1::Refusal> CheckMembership(const SessionContext& context, const Peer& peer, const v1::Hello& hello) {
  const absl::StatusOr<bool> removed = context.hosts.IsRemoved(hello.host_id());
  if (!removed.ok() && removed.status().code() != absl::StatusCode::kNotFound) {
    return RefuseForNow("look this host up", removed.status());
  }
  const absl::StatusOr<bool> revoked = context.trust.IsRevoked(peer.certificate_serial_hex);
  if (!revoked.ok()) return RefuseForNow("look this certificate up", revoked.status());
  if (removed.ok() && !*removed && !*revoked) return std::nullopt;
  return Refuse(v1::REFUSAL_REASON_REMOVED, absl::StrCat("host ", hello.host_id(), " (\"", hello.host_name(),
                                                         "\") is not part of this fleet any more; ", kHowToEnrolAgain));
}

}  // namespace

Admission Admit(const SessionContext& context, const Peer& peer, const v1::Hello& hello, absl::Time now) {
  if (auto refusal = CheckIdentity(peer, hello)) return *refusal;
  if (auto refusal = CheckProtocol(context, hello)) return *refusal;
  if (auto refusal = CheckMembership(context, peer, hello)) return *refusal;

  Admitted admitted;
  admitted.claimant = {context.collector_id, hello.session_id(), hello.boot_id()};
  const absl::StatusOr<std::string> name = context.hosts.TakeClaim(hello.host_id(), admitted.claimant);
  if (!name.ok() && name.status().code() == absl::StatusCode::kAlreadyExists) {
    return Refuse(v1::REFUSAL_REASON_IDENTITY_IN_USE,
                  absl::StrCat(std::string(name.status().message()), "; this machine calls itself \"",
                               hello.host_name(), "\" and has the same identity ", hello.host_id(),
                               ". If it was cloned from that one, run `fleetmark-agent reset-id` here and enrol it"),
                  60.0);
  }
  if (!name.ok()) return RefuseForNow("take this host over", name.status());

  // A clock that was not told is unknown, not right.
  const double offset = hello.unix_seconds() > 0 ? hello.unix_seconds() - absl::ToDoubleSeconds(now - absl::UnixEpoch())
                                                 : std::numeric_limits<double>::quiet_NaN();
  absl::Status recorded = context.hosts.RecordHello(hello.host_id(), hello, offset);
  // An agent that cannot read its task list has not lost its tasks: it starts over when it can.
  if (recorded.ok() && !hello.tasks_unknown()) {
    auto reconciliation =
        context.runs.Reconcile(hello.host_id(), {hello.unfinished().begin(), hello.unfinished().end()});
    recorded = reconciliation.status();
    if (reconciliation.ok()) admitted.reconciliation = *std::move(reconciliation);
  }
  if (!recorded.ok()) {
    const absl::Status released = context.hosts.ReleaseClaim(hello.host_id(), admitted.claimant);
    if (!released.ok()) LogWarning("agents", absl::StrCat("release claim: ", std::string(released.message())));
    return RefuseForNow("record this host", recorded);
  }

  v1::Welcome& welcome = admitted.welcome;
  welcome.set_protocol(std::min(hello.protocol_maximum(), kProtocolMaximum));
  welcome.set_collector_version(context.version);
  welcome.set_collector_id(context.collector_id);
  welcome.set_unix_seconds(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  welcome.set_heartbeat_seconds(absl::ToDoubleSeconds(context.heartbeat));
  welcome.set_host_name(*name);
  welcome.set_largest_batch_bytes(context.largest_batch_bytes);
  return admitted;
}

absl::Status StatusOf(const v1::Refusal& refusal) {
  switch (refusal.reason()) {
    case v1::REFUSAL_REASON_IDENTITY_IN_USE:
      return absl::AlreadyExistsError(refusal.message());
    case v1::REFUSAL_REASON_PROTOCOL:
      return absl::FailedPreconditionError(refusal.message());
    case v1::REFUSAL_REASON_OVERLOADED:
      return absl::UnavailableError(refusal.message());
    default:
      return absl::PermissionDeniedError(refusal.message());
  }
}

}  // namespace fleetmark::collector
