#include "agent/workloads/memory/stream_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "agent/platform/machine.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

std::vector<int> Cpus(size_t threads) {
  const std::vector<int> usable = ReadUsableCpus().cpus;
  std::vector<int> cpus;
  for (size_t i = 0; i < threads; ++i) cpus.push_back(usable[i % usable.size()]);
  return cpus;
}

TEST(StreamTeamTest, EveryTeamGivesAllPassesAndRightResults) {
  for (const size_t threads : {1u, 2u, 5u}) {
    StreamTeam team(Cpus(threads), [] { return false; });
    const StreamArrays arrays(team.RoundCount(100'000));
    ASSERT_TRUE(team.Touch(arrays, [](double) {}).ok());
    for (int round = 0; round < 2; ++round) {
      StreamTimes times;
      const absl::Status status = team.Run(arrays, ScalarStream(), 10, times);
      ASSERT_TRUE(status.ok()) << status;
      for (const std::vector<double>& seconds : times.seconds) {
        EXPECT_EQ(seconds.size(), 10u) << "the first pass is discarded";
        EXPECT_GT(*std::min_element(seconds.begin(), seconds.end()), 0);
      }
    }
  }
}

// The single thread works on arrays that were laid out for all.
TEST(StreamTeamTest, ASmallerTeamMayUseTheArraysOfALargerOne) {
  StreamTeam large(Cpus(3), [] { return false; });
  StreamTeam small(Cpus(1), [] { return false; });
  const StreamArrays arrays(large.RoundCount(50'000));
  ASSERT_TRUE(large.Touch(arrays, [](double) {}).ok());
  StreamTimes times;
  EXPECT_TRUE(small.Run(arrays, ScalarStream(), 3, times).ok());
  EXPECT_TRUE(large.Run(arrays, ScalarStream(), 3, times).ok());
  EXPECT_LE(small.PassCount(arrays), arrays.count() / kStreamSlices);
}

// C-014: a kernel whose work was optimised away.
TEST(StreamTeamTest, WorkThatWasNotDoneFails) {
  StreamVariant broken = ScalarStream();
  broken.isa = "a broken build";
  broken.kernels[static_cast<size_t>(StreamKernel::kTriad)] = [](double*, double*, double*, double, size_t) {};
  StreamTeam team(Cpus(2), [] { return false; });
  const StreamArrays arrays(team.RoundCount(50'000));
  ASSERT_TRUE(team.Touch(arrays, [](double) {}).ok());
  StreamTimes times;
  const absl::Status status = team.Run(arrays, broken, 3, times);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a broken build"));
  EXPECT_TRUE(times.seconds[0].empty()) << "a wrong result has no rate";
}

TEST(StreamTeamTest, ACancelEndsAllThreadsAtTheNextPass) {
  for (const int looks : {0, 1, 7}) {
    std::atomic<int> left{looks};
    StreamTeam team(Cpus(3), [&left] { return left.fetch_sub(1) <= 0; });
    const StreamArrays arrays(team.RoundCount(50'000));
    StreamTimes times;
    EXPECT_EQ(team.Run(arrays, ScalarStream(), 100, times).code(), absl::StatusCode::kCancelled);
    left = 0;
    EXPECT_EQ(team.Touch(arrays, [](double) {}).code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace fleetmark::agent
