// StopSignal: "please stop", once and for ever, in a form every kind of wait can watch.
//
// Owned by whoever may ask for the stop; waiters hold a reference and must not outlive it. All methods may be called
// from any thread; Request() also from a signal handler. A wait is WaitFor(), or a poll() on fd(), which becomes
// readable at the stop and stays so.
#pragma once

#include <atomic>

#include "absl/time/time.h"

namespace fleetmark {

class StopSignal {
 public:
  StopSignal();  // REQUIRES: two free file descriptors (aborts otherwise)
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void Request() noexcept;
  bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }

  // Sleeps until the stop or until `timeout` has passed; returns requested().
  bool WaitFor(absl::Duration timeout) const;

  // Readable once the stop is requested. Only to be polled.
  int fd() const { return pipe_[0]; }

 private:
  std::atomic<bool> requested_{false};
  int pipe_[2];
};

// Makes SIGINT and SIGTERM request `stop`; the second of them takes the default action (ends the process). SIGPIPE is
// ignored. Call once, in main, before threads start; `stop` must live as long as the process.
void StopOnSignals(StopSignal& stop);

}  // namespace fleetmark
