#include "common/time/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace fleetmark {
namespace {

TEST(BackoffTest, TheBoundDoublesUpToTheCap) {
  Backoff backoff(Backoff::Options{}, [] { return 1.0; });
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30, 30}) EXPECT_EQ(backoff.Next(), absl::Seconds(seconds));
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

TEST(BackoffTest, JittersOverTheFullRange) {
  double next = 0;
  Backoff backoff(Backoff::Options{}, [&] { return next; });
  EXPECT_EQ(backoff.Next(), absl::ZeroDuration());
  next = 0.5;
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

TEST(BackoffTest, NeverOverflows) {
  Backoff backoff(Backoff::Options{}, [] { return 0.9; });
  for (int i = 0; i < 10000; ++i) EXPECT_LE(backoff.Next(), absl::Seconds(30));
}

TEST(BackoffTest, TheSystemsRandomNumbersDiffer) {
  const Backoff::RandomSource a = Backoff::SystemRandom(), b = Backoff::SystemRandom();
  std::set<double> seen;
  for (int i = 0; i < 100; ++i) {
    for (const double value : {a(), b()}) {
      EXPECT_GE(value, 0);
      EXPECT_LT(value, 1);
      seen.insert(value);
    }
  }
  EXPECT_GT(seen.size(), 190u);
}

}  // namespace
}  // namespace fleetmark
