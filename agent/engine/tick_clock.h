// TickClock: the cheapest steady clock there is, for timed loops. The processor's time stamp counter where it is
// invariant and the kernel itself trusts it (about 11 ns a reading), else CLOCK_MONOTONIC (about 26 ns).
//
// One per process, calibrated for 20 ms at first use: call Get() before a clock starts. Any thread.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fleetmark::agent {

class TickClock {
 public:
  static const TickClock& Get();

  static int64_t MonotonicNs() noexcept;

  uint64_t Now() const noexcept {
#if defined(__x86_64__)
    if (tsc_) return __rdtsc();
#endif
    return static_cast<uint64_t>(MonotonicNs());
  }

  // Negative differences (two CPUs that disagree) come out negative; LatencyHistogram counts them as anomalies.
  int64_t ToNs(uint64_t begin, uint64_t end) const noexcept {
    const auto ticks = static_cast<int64_t>(end - begin);
    if (!tsc_) return ticks;
    return static_cast<int64_t>((static_cast<__int128>(ticks) * multiplier_) >> kShift);
  }
  uint64_t FromNs(int64_t nanoseconds) const noexcept {
    if (!tsc_) return static_cast<uint64_t>(nanoseconds);
    return static_cast<uint64_t>((static_cast<__int128>(nanoseconds) << kShift) / multiplier_);
  }

  bool uses_tsc() const { return tsc_; }

 private:
  static constexpr int kShift = 32;
  TickClock();

  bool tsc_ = false;
  int64_t multiplier_ = 1;  // nanoseconds per tick << kShift
};

}  // namespace fleetmark::agent
