#include "common/sync/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace fleetmark {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, ExcludesOtherThreads) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        MutexLock lock(counter.mutex);
        ++counter.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, 40000);
}

TEST(CondVarTest, WakesAWaiter) {
  Counter counter;
  std::thread setter([&] {
    MutexLock lock(counter.mutex);
    counter.value = 1;
    counter.changed.NotifyAll();
  });
  {
    MutexLock lock(counter.mutex);
    while (counter.value == 0) counter.changed.Wait(counter.mutex);
    EXPECT_EQ(counter.value, 1);
  }
  setter.join();
}

TEST(CondVarTest, GivesUpAfterTheTime) {
  Counter counter;
  MutexLock lock(counter.mutex);
  while (counter.changed.WaitFor(counter.mutex, std::chrono::milliseconds(1))) {
  }
  SUCCEED();
}

}  // namespace
}  // namespace fleetmark
