// Only in the ThreadSanitizer build: that it takes our word for what gRPC orders, and not for anything else.
#include "common/rpc/handover.h"

#include <gtest/gtest.h>
#include <sanitizer/common_interface_defs.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

namespace fleetmark {
namespace {

// What gRPC's locks look like from outside: the second function does run after the first, and nothing says so.
void InTwoThreads(const std::function<void()>& first, const std::function<void()>& second) {
  std::atomic<bool> over{false};
  std::thread second_thread([&] {
    while (!over.load(std::memory_order_relaxed)) std::this_thread::yield();
    second();
  });
  std::thread first_thread([&] {
    first();
    over.store(true, std::memory_order_relaxed);
  });
  first_thread.join();
  second_thread.join();
}

struct Reactor {
  int own = 0;
  int message = 0;
};

class HandoverTest : public ::testing::Test {
 protected:
  HandoverTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void StartAndReact(const std::function<void(Reactor&)>& start, const std::function<void(Reactor&)>& react) {
  __sanitizer_set_report_path("stderr");  // what is provoked here is not a finding
  Reactor reactor;
  InTwoThreads([&] { start(reactor); }, [&] { react(reactor); });
  std::exit(0);  // 66 after a report
}

void Give(Reactor& reactor) {
  reactor.own = 1;
  GivenToGrpc(&reactor);
  reactor.message = 1;
  GivenToGrpc(&reactor.message);
}

TEST_F(HandoverTest, AReactionComesAfterWhatStartedIt) {
  EXPECT_EXIT(StartAndReact(Give,
                            [](Reactor& reactor) {
                              const Reaction reaction(&reactor);
                              TakenFromGrpc(&reactor.message);
                              ++reactor.message;
                              ++reactor.own;
                            }),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(HandoverTest, ThatOfAnotherOperationDoesNot) {
  EXPECT_EXIT(StartAndReact(Give,
                            [](Reactor& reactor) {
                              const Reaction reaction(&reactor);
                              ++reactor.message;
                            }),
              ::testing::ExitedWithCode(66), "data race");
}

TEST_F(HandoverTest, TwoReactionsAreNotOrdered) {
  const auto react = [](Reactor& reactor) {
    const Reaction reaction(&reactor);
    ++reactor.own;
  };
  EXPECT_EXIT(StartAndReact(react, react), ::testing::ExitedWithCode(66), "data race");
}

TEST_F(HandoverTest, TheLastReactionComesAfterAllOthers) {
  EXPECT_EXIT(StartAndReact(
                  [](Reactor& reactor) {
                    const Reaction reaction(&reactor);
                    ++reactor.own;
                  },
                  [](Reactor& reactor) {
                    LastReaction(&reactor);
                    ++reactor.own;
                  }),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fleetmark
