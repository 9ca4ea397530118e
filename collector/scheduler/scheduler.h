// Scheduler: gives the hosts that are connected to this collector their next tasks, passes cancellations on, and gives
// up what nobody came back for. The rows decide (collector/store); this thread only looks at them when something has
// happened, and every two seconds because a notification is only a hint.
//
// Owned by the collector; one thread, "scheduler", from Start() to Shutdown(). The other methods are thread-safe and
// do not block. Nothing is kept here that a restart would lose: a collector that comes back finds the tasks where they
// were, and agents tell in their Hello what they have.
#pragma once

#include <map>
#include <set>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "collector/registry/agent_registry.h"
#include "collector/store/run_store.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

struct SchedulerOptions {
  absl::Duration poll = absl::Seconds(2);
  absl::Duration give_up_every = absl::Seconds(2);  // so much later than asked for at most
};

class Scheduler {
 public:
  Scheduler(RunStore& runs, AgentRegistry& registry, std::string collector_id, SchedulerOptions options = {});
  ~Scheduler();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();
  void Shutdown() EXCLUDES(mutex_);  // idempotent; joins, after the host under way

  void Wake(const HostId& host) EXCLUDES(mutex_);
  void WakeAll() EXCLUDES(mutex_);
  // The host takes no tasks: it is not asked until ReleaseHost or until `wait` has passed. Cancellations still go out.
  void HoldHost(const HostId& host, absl::Duration wait) EXCLUDES(mutex_);
  void ReleaseHost(const HostId& host) EXCLUDES(mutex_);  // and wakes it

  // What the thread does for one host. For tests.
  absl::Status Serve(const HostId& host) EXCLUDES(mutex_);

 private:
  void Run() EXCLUDES(mutex_);
  void GiveUpOverdue();
  bool IsHeld(const HostId& host) EXCLUDES(mutex_);

  RunStore& runs_;
  AgentRegistry& registry_;
  const std::string collector_id_;
  const SchedulerOptions options_;
  std::thread thread_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool all_ GUARDED_BY(mutex_) = true;
  std::set<HostId> woken_ GUARDED_BY(mutex_);
  std::map<HostId, absl::Time> held_until_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
