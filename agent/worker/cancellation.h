// Why a worker is to stop, if it is. Set by the watcher of the control pipe, read by everybody.
#pragma once

#include <atomic>

namespace fleetmark::agent {

enum class StopCause {
  kNone,
  kCancelled,  // asked by the executor
  kDeadline,   // the time of the task is up
  kOrphaned,   // the executor is gone
};

class Cancellation {
 public:
  // The first cause counts.
  void Set(StopCause cause) {
    StopCause none = StopCause::kNone;
    cause_.compare_exchange_strong(none, cause);
  }
  StopCause cause() const { return cause_.load(std::memory_order_relaxed); }
  bool requested() const { return cause() != StopCause::kNone; }

 private:
  std::atomic<StopCause> cause_{StopCause::kNone};
};

}  // namespace fleetmark::agent
