#include "common/lifecycle/stop_signal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace fleetmark {
namespace {

bool Readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

TEST(StopSignalTest, StaysRequested) {
  StopSignal stop;
  EXPECT_FALSE(stop.requested());
  EXPECT_FALSE(Readable(stop.fd()));
  stop.Request();
  stop.Request();
  EXPECT_TRUE(stop.requested());
  EXPECT_TRUE(Readable(stop.fd()));
  EXPECT_TRUE(stop.WaitFor(absl::InfiniteDuration()));
  EXPECT_TRUE(Readable(stop.fd()));
}

TEST(StopSignalTest, WaitsNoLongerThanAsked) {
  StopSignal stop;
  EXPECT_FALSE(stop.WaitFor(absl::Milliseconds(1)));
  EXPECT_FALSE(stop.WaitFor(absl::ZeroDuration()));
  EXPECT_FALSE(stop.WaitFor(-absl::Seconds(1)));
}

TEST(StopSignalTest, WakesEveryWaiter) {
  StopSignal stop;
  std::thread a([&] { EXPECT_TRUE(stop.WaitFor(absl::InfiniteDuration())); });
  std::thread b([&] { EXPECT_TRUE(stop.WaitFor(absl::Hours(1))); });
  stop.Request();
  a.join();
  b.join();
}

TEST(StopSignalTest, IsNotInheritedByOtherPrograms) {
  StopSignal stop;
  EXPECT_NE(fcntl(stop.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

// Exit code 3: the first signal did not request the stop; 4: the second did not end the process.
void RaiseTwice(int first, int second) {
  StopSignal stop;
  StopOnSignals(stop);
  std::raise(first);
  if (!stop.requested()) std::_Exit(3);
  std::raise(second);
  std::_Exit(4);
}

TEST(StopOnSignalsDeathTest, TheSecondSignalEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(RaiseTwice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(RaiseTwice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(RaiseTwice(SIGTERM, SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(StopOnSignalsDeathTest, ABrokenPipeIsNotDeadly) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        StopSignal stop;
        StopOnSignals(stop);
        std::raise(SIGPIPE);
        std::_Exit(stop.requested() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fleetmark
