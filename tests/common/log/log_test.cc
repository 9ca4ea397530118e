#include "common/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace fleetmark {
namespace {

std::string Captured(void (*log)(std::string_view, std::string_view), std::string_view text) {
  testing::internal::CaptureStderr();
  log("agent", text);
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, WritesOneLineWithTimeLevelAndArea) {
  const std::string stamp = "20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:.]{12}Z ";
  EXPECT_THAT(Captured(LogInfo, "hello"), testing::MatchesRegex(stamp + "I agent: hello\n"));
  EXPECT_THAT(Captured(LogWarning, "hello"), testing::MatchesRegex(stamp + "W agent: hello\n"));
  EXPECT_THAT(Captured(LogError, "hello"), testing::MatchesRegex(stamp + "E agent: hello\n"));
}

TEST(LogTest, TextCannotForgeALine) {
  const std::string line = Captured(LogInfo, "host a\n2026-01-01T00:00:00.000Z E store: forged\x1b[2J");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

TEST(LogTest, LinesOfThreadsDoNotMix) {
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) LogInfo("agent", std::string(200, static_cast<char>('a' + t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = testing::internal::GetCapturedStderr();
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    const size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string body = text.substr(end - 200, 200);
    ASSERT_EQ(body, std::string(200, body[0]));
    at = end + 1;
  }
  EXPECT_EQ(lines, 800u);
}

}  // namespace
}  // namespace fleetmark
