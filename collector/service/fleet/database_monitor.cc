#include "collector/service/fleet/database_monitor.h"

#include <cassert>
#include <utility>

#include "absl/time/clock.h"
#include "common/lifecycle/thread_name.h"

namespace fleetmark::collector {

DatabaseMonitor::DatabaseMonitor(std::function<absl::Status()> check, absl::Duration interval)
    : check_(std::move(check)), interval_(interval) {}

DatabaseMonitor::~DatabaseMonitor() { assert(!thread_.joinable()); }

void DatabaseMonitor::Start() {
  thread_ = std::thread([this] {
    SetThreadName("database");
    do {
      {
        MutexLock lock(mutex_);
        asked_ = absl::Now();
      }
      absl::Status status = check_();
      MutexLock lock(mutex_);
      asked_ = absl::InfiniteFuture();
      status_ = std::move(status);
    } while (!stop_.WaitFor(interval_));
  });
}

void DatabaseMonitor::Shutdown() {
  stop_.Request();
  if (thread_.joinable()) thread_.join();
}

absl::Status DatabaseMonitor::status() const {
  MutexLock lock(mutex_);
  if (status_.ok() && absl::Now() - asked_ > absl::Seconds(5)) {
    return absl::UnavailableError("the database has not answered for 5 s");
  }
  return status_;
}

}  // namespace fleetmark::collector
