#include "collector/service/enrollment/rate_limiter.h"

#include <gtest/gtest.h>

#include "common/time/fake_clock.h"

namespace fleetmark::collector {
namespace {

// Tries until refused; returns how many tries there were.
int FailUntilRefused(RateLimiter& limiter, const std::string& peer) {
  int count = 0;
  while (count < 1000 && limiter.MayTry(peer)) {
    limiter.CountFailure(peer);
    ++count;
  }
  return count;
}

TEST(RateLimiterTest, OnePeerMayFailFiveTimesAMinute) {
  FakeClock clock;
  RateLimiter limiter({}, clock);
  EXPECT_EQ(FailUntilRefused(limiter, "a"), 5);
  EXPECT_TRUE(limiter.MayTry("b")) << "others are not held back";
  clock.Advance(absl::Seconds(11));
  EXPECT_FALSE(limiter.MayTry("a"));
  clock.Advance(absl::Seconds(2));
  EXPECT_TRUE(limiter.MayTry("a")) << "a fifth of a minute gives one back";
  clock.Advance(absl::Hours(10));
  EXPECT_EQ(FailUntilRefused(limiter, "a"), 5) << "and never more than five";
}

TEST(RateLimiterTest, AllTogetherMayFailFiftyTimes) {
  FakeClock clock;
  RateLimiter limiter({}, clock);
  int failures = 0;
  for (int peer = 0; peer < 100; ++peer) failures += FailUntilRefused(limiter, std::to_string(peer));
  EXPECT_EQ(failures, 50);
  EXPECT_FALSE(limiter.MayTry("new"));
  clock.Advance(absl::Minutes(1));
  EXPECT_TRUE(limiter.MayTry("new"));
}

TEST(RateLimiterTest, TryingCostsNothing) {
  FakeClock clock;
  RateLimiter limiter({}, clock);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limiter.MayTry("a"));
}

TEST(RateLimiterTest, ForgetsThePeerLongestQuiet) {
  FakeClock clock;
  RateLimiter limiter({.failures_per_peer = 1, .failures_in_total = 1e9, .peers = 3}, clock);
  for (const char* peer : {"a", "b", "c"}) {
    limiter.CountFailure(peer);
    clock.Advance(absl::Milliseconds(1));
  }
  limiter.CountFailure("d");
  EXPECT_TRUE(limiter.MayTry("a"));
  for (const char* peer : {"b", "c", "d"}) EXPECT_FALSE(limiter.MayTry(peer)) << peer;
}

}  // namespace
}  // namespace fleetmark::collector
