#include "agent/platform/bounded_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace fleetmark::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BoundedCallTest, ReturnsWhatTheCallReturned) {
  EXPECT_EQ(CallBounded<int>("quick", seconds(30), [] { return 42; }), 42);
  EXPECT_EQ(HangingCalls(), 0u);
}

// C-067
TEST(BoundedCallTest, AHangingPathCostsOneThreadHoweverOftenItIsAskedFor) {
  const auto release = std::make_shared<std::promise<void>>();
  const auto finished = std::make_shared<std::promise<void>>();
  const auto started = std::make_shared<std::atomic<int>>(0);
  const std::shared_future<void> released = release->get_future().share();
  const auto hang = [released, started, finished] {
    if (started->fetch_add(1) > 0) return;
    released.wait();
    finished->set_value();
  };
  EXPECT_FALSE(RunBounded("/mnt/dead", milliseconds(20), hang));
  EXPECT_EQ(HangingCalls(), 1u);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(RunBounded("/mnt/dead", seconds(30), hang));
  EXPECT_EQ(started->load(), 1) << "no further thread was started";
  EXPECT_TRUE(RunBounded("/mnt/alive", seconds(30), [] {}));

  // When the server is back, so is the path.
  release->set_value();
  finished->get_future().wait();
  while (HangingCalls() > 0) std::this_thread::yield();
  EXPECT_TRUE(RunBounded("/mnt/dead", seconds(30), hang));
}

}  // namespace
}  // namespace fleetmark::agent
