// Clock: where time comes from. Injected wherever a test wants to move time; SystemClock() is the real one.
//
// Thread rule: all methods may be called from any thread.
#pragma once

#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace fleetmark {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time, for stamps only: it may be wrong and may jump.
  virtual absl::Time Now() const = 0;

  // Nanoseconds of CLOCK_MONOTONIC, for intervals. Stands still while the machine sleeps (on Linux and macOS).
  virtual int64_t MonotonicNs() const = 0;

  // Nanoseconds of CLOCK_BOOTTIME (which counts sleep), or MonotonicNs() where there is none. The growth of
  // BootNs() - MonotonicNs() is the time the machine slept.
  virtual int64_t BootNs() const = 0;
};

// The machine's clock; lives for ever.
const Clock& SystemClock();

}  // namespace fleetmark
