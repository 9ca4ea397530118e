#include "agent/engine/tick_clock.h"

#include <time.h>

#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fleetmark::agent {
namespace {

#if defined(__x86_64__)
constexpr int64_t kCalibrationNs = 20'000'000;

bool CounterIsInvariant() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (1u << 8)) != 0;
}

// The kernel watches the counter against other clocks and drops it when CPUs disagree.
bool KernelTrustsCounter() {
  FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[32] = {};
  const bool read = std::fgets(name, sizeof name, file) != nullptr;
  std::fclose(file);
  return read && (std::strcmp(name, "tsc\n") == 0 || std::strcmp(name, "kvm-clock\n") == 0 ||
                  std::strcmp(name, "hyperv_clocksource_tsc_page\n") == 0);
}

struct ClockPair {
  uint64_t ticks;
  int64_t nanoseconds;
};

// The closest of a few readings of both clocks, so that a preemption in between does not spoil the calibration.
ClockPair ReadBoth() {
  ClockPair best{};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = __rdtsc();
    const int64_t nanoseconds = TickClock::MonotonicNs();
    const uint64_t after = __rdtsc();
    if (after - before < best_width) {
      best_width = after - before;
      best = {before + (after - before) / 2, nanoseconds};
    }
  }
  return best;
}
#endif

}  // namespace

int64_t TickClock::MonotonicNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

TickClock::TickClock() {
#if defined(__x86_64__)
  if (!CounterIsInvariant() || !KernelTrustsCounter()) return;
  const ClockPair begin = ReadBoth();
  timespec nap{0, kCalibrationNs};
  while (nanosleep(&nap, &nap) != 0) {
  }
  const ClockPair end = ReadBoth();
  if (end.ticks <= begin.ticks || end.nanoseconds <= begin.nanoseconds) return;
  multiplier_ = static_cast<int64_t>((static_cast<__int128>(end.nanoseconds - begin.nanoseconds) << kShift) /
                                     static_cast<__int128>(end.ticks - begin.ticks));
  tsc_ = multiplier_ > 0;
#endif
}

const TickClock& TickClock::Get() {
  static const TickClock clock;
  return clock;
}

}  // namespace fleetmark::agent
