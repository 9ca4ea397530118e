// AgentSessions: all sessions that have a stream, also those that have not said who they are: their clock, their
// number, and their common end.
//
// Owned by the agent service; one thread, "sessions", from Start() to Shutdown(). Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collector/service/agent/agent_session.h"
#include "common/lifecycle/stop_signal.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class AgentSessions {
 public:
  // Streams one certificate may have open at a time; a restarted agent leaves one behind for a while.
  static constexpr size_t kMostPerHost = 8;

  ~AgentSessions();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();

  // RESOURCE_EXHAUSTED: too many streams of this host. UNAVAILABLE: shutting down.
  absl::Status Add(const HostId& host, const std::shared_ptr<AgentSession>& session) EXCLUDES(mutex_);
  void Remove(const HostId& host, const AgentSession* session) EXCLUDES(mutex_);

  // Ends all streams and waits until they are gone, at most until the deadline; returns how many were not.
  size_t Shutdown(absl::Duration deadline) EXCLUDES(mutex_);

 private:
  std::vector<std::shared_ptr<AgentSession>> All() EXCLUDES(mutex_);

  StopSignal stop_;
  std::thread thread_;
  Mutex mutex_;
  CondVar changed_;
  bool closing_ GUARDED_BY(mutex_) = false;
  size_t count_ GUARDED_BY(mutex_) = 0;
  std::map<HostId, std::vector<std::weak_ptr<AgentSession>>> sessions_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
