// FakeClock: a Clock that a test moves by hand. Thread-safe.
#pragma once

#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark {

class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : now_(start) {}

  absl::Time Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  int64_t MonotonicNs() const override {
    MutexLock lock(mutex_);
    return monotonic_ns_;
  }
  int64_t BootNs() const override {
    MutexLock lock(mutex_);
    return boot_ns_;
  }

  // Time passes on every clock.
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
    monotonic_ns_ += absl::ToInt64Nanoseconds(by);
    boot_ns_ += absl::ToInt64Nanoseconds(by);
  }
  // The machine sleeps: wall and boot clocks go on, the monotonic one stands still.
  void Sleep(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
    boot_ns_ += absl::ToInt64Nanoseconds(by);
  }
  // Somebody sets the wall clock.
  void StepWall(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ GUARDED_BY(mutex_);
  int64_t monotonic_ns_ GUARDED_BY(mutex_) = 1'000'000'000;
  int64_t boot_ns_ GUARDED_BY(mutex_) = 1'000'000'000;
};

}  // namespace fleetmark
