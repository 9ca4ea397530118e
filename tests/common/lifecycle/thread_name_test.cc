#include "common/lifecycle/thread_name.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <thread>

namespace fleetmark {
namespace {

std::string NameAfter(std::string_view name) {
  std::string seen;
  std::thread thread([&] {
    SetThreadName(name);
    char buffer[64] = "";
    pthread_getname_np(pthread_self(), buffer, sizeof buffer);
    seen = buffer;
  });
  thread.join();
  return seen;
}

TEST(SetThreadNameTest, KeepsFifteenBytes) {
  EXPECT_EQ(NameAfter("watchdog"), "watchdog");
  EXPECT_EQ(NameAfter("a-name-that-is-too-long"), "a-name-that-is-");
}

}  // namespace
}  // namespace fleetmark
