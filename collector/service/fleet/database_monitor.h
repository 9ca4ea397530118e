// DatabaseMonitor: is the database there? Asked every two seconds by a thread of its own, so that the answer never
// waits for the database.
//
// Owned by the collector; thread "database" from Start() to Shutdown(). status() from any thread.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/lifecycle/stop_signal.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class DatabaseMonitor {
 public:
  explicit DatabaseMonitor(std::function<absl::Status()> check, absl::Duration interval = absl::Seconds(2));
  ~DatabaseMonitor();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();
  void Shutdown();  // idempotent; joins, after the question under way

  // OK, or why it is not there. UNAVAILABLE also if it has not answered for 5 s.
  absl::Status status() const EXCLUDES(mutex_);

 private:
  const std::function<absl::Status()> check_;
  const absl::Duration interval_;
  StopSignal stop_;
  std::thread thread_;
  mutable Mutex mutex_;
  absl::Status status_ GUARDED_BY(mutex_);
  absl::Time asked_ GUARDED_BY(mutex_) = absl::InfiniteFuture();  // a question under way
};

}  // namespace fleetmark::collector
