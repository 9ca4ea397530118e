// What all agent sessions of a collector share: the cores they call and the events they raise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "collector/ingest/ingest.h"
#include "collector/registry/agent_registry.h"
#include "collector/service/dispatch/sharded_workers.h"
#include "collector/store/host_store.h"
#include "collector/store/run_store.h"
#include "collector/store/trust_store.h"

namespace fleetmark::collector {

// What happens in sessions, for the scheduler and for watchers. Called from worker threads and from reactions: quick,
// thread-safe, never blocking.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  virtual void HostReady(const HostId& host) = 0;  // it may be given a task
  // It takes none for now: not asked again until HostReady or until `wait` has passed.
  virtual void HostRefuses(const HostId& host, absl::Duration wait) = 0;
  virtual void RunsChanged(const std::vector<RunId>& runs) = 0;
  virtual void ProgressArrived(const HostId& host, const v1::Progress& progress) = 0;
};

struct SessionContext {
  HostStore& hosts;
  RunStore& runs;
  TrustStore& trust;
  Ingest& ingest;
  AgentRegistry& registry;
  ShardedWorkers& workers;
  SessionEvents& events;
  std::string collector_id;
  std::string version;
  absl::Duration heartbeat = absl::Seconds(15);      // three missed end a session
  uint32_t largest_batch_bytes = 256 << 10;          // of results in one message, asked of agents
  absl::Duration hello_timeout = absl::Seconds(20);  // a stream that says nothing is closed
};

// The range of protocol versions this collector speaks.
inline constexpr uint32_t kProtocolMinimum = 1;
inline constexpr uint32_t kProtocolMaximum = 1;

}  // namespace fleetmark::collector
