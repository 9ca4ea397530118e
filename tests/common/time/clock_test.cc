#include "common/time/clock.h"

#include <gtest/gtest.h>

#include "common/time/fake_clock.h"

namespace fleetmark {
namespace {

TEST(SystemClockTest, NeverGoesBack) {
  const Clock& clock = SystemClock();
  int64_t monotonic = clock.MonotonicNs();
  int64_t boot = clock.BootNs();
  EXPECT_GT(monotonic, 0);
  EXPECT_GE(boot, monotonic);
  for (int i = 0; i < 10000; ++i) {
    EXPECT_GE(clock.MonotonicNs(), monotonic);
    EXPECT_GE(clock.BootNs(), boot);
    monotonic = clock.MonotonicNs();
    boot = clock.BootNs();
  }
  EXPECT_GT(clock.Now(), absl::FromUnixSeconds(0));
}

TEST(FakeClockTest, MovesOnlyWhatIsAskedFor) {
  FakeClock clock;
  const absl::Time start = clock.Now();
  const int64_t monotonic = clock.MonotonicNs();
  clock.Advance(absl::Seconds(1));
  clock.Sleep(absl::Seconds(10));
  clock.StepWall(-absl::Hours(1));
  EXPECT_EQ(clock.Now(), start + absl::Seconds(11) - absl::Hours(1));
  EXPECT_EQ(clock.MonotonicNs() - monotonic, 1'000'000'000);
  EXPECT_EQ(clock.BootNs() - clock.MonotonicNs(), 10'000'000'000);
}

}  // namespace
}  // namespace fleetmark
