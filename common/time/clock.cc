#include "common/time/clock.h"

#include <ctime>

namespace fleetmark {
namespace {

int64_t Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  int64_t MonotonicNs() const override { return Read(CLOCK_MONOTONIC); }
  int64_t BootNs() const override {
#ifdef CLOCK_BOOTTIME
    return Read(CLOCK_BOOTTIME);
#else
    return MonotonicNs();
#endif
  }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock& clock = *new RealClock;
  return clock;
}

}  // namespace fleetmark
