// ClaimKeeper: renews the claims of all connected hosts, and ends the session of a host whose claim was lost: another
// collector drives it now, or it was removed from the fleet.
//
// Owned by the collector; one thread, "claims", from Start() to Shutdown(). While the database is away nothing is lost
// and nothing ends: a claim that nobody else took is still ours afterwards.
#pragma once

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "collector/registry/agent_registry.h"
#include "collector/store/host_store.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::collector {

class ClaimKeeper {
 public:
  ClaimKeeper(HostStore& hosts, AgentRegistry& registry, std::string collector_id,
              absl::Duration interval = absl::Seconds(10));
  ~ClaimKeeper();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();
  void Shutdown();  // idempotent; joins, after the round that is under way

  // One round, as the thread makes it. For tests.
  absl::Status RenewAll();

  // Looks whether `host` was removed from the fleet and ends its session if so. Blocks on the database.
  void EndIfRemoved(const HostId& host);

 private:
  HostStore& hosts_;
  AgentRegistry& registry_;
  const std::string collector_id_;
  const absl::Duration interval_;
  StopSignal stop_;
  std::thread thread_;
};

}  // namespace fleetmark::collector
