// Admission: whether an agent that said Hello may have a session, and what it is told if not. No gRPC.
//
// Blocks on the database; called on the worker thread of the host.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "collector/service/agent/session_context.h"
#include "collector/service/peer/peer.h"

namespace fleetmark::collector {

struct Admitted {
  v1::Welcome welcome;
  Claimant claimant;  // the claim is taken
  RunStore::Reconciliation reconciliation;
};

using Admission = std::variant<Admitted, v1::Refusal>;

// Checks identity, protocol, removal and revocation, takes the claim, records the Hello and compares unfinished tasks.
// A database that is not there is a refusal with a time to come back.
Admission Admit(const SessionContext& context, const Peer& peer, const v1::Hello& hello, absl::Time now);

// The status a stream ends with after such a refusal.
absl::Status StatusOf(const v1::Refusal& refusal);

}  // namespace fleetmark::collector
