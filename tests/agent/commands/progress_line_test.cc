#include "agent/commands/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

v1::Progress Measuring() {
  v1::Progress progress;
  progress.set_phase(v1::PHASE_MEASURING);
  progress.set_repetition(2);
  progress.set_step("seq1m_q8t1 read");
  progress.set_fraction(0.42);
  progress.set_rate(512e6);
  progress.set_rate_unit(v1::UNIT_BYTES_PER_SECOND);
  progress.set_seconds_left(45);
  return progress;
}

TEST(ProgressLineTest, SaysWhatHowFarHowFastHowLong) {
  Terminal terminal;
  terminal.width = 200;
  const std::string line = RenderProgress("disk.profile", Measuring(), terminal, UnitFamily::kDecimal);
  EXPECT_THAT(line, HasSubstr("disk.profile"));
  EXPECT_THAT(line, HasSubstr(" 42 %"));
  EXPECT_THAT(line, HasSubstr("repetition 2"));
  EXPECT_THAT(line, HasSubstr("seq1m_q8t1 read"));
  EXPECT_THAT(line, HasSubstr("512"));
  EXPECT_THAT(line, HasSubstr("45 s left"));
}

TEST(ProgressLineTest, FitsTheTerminalAndIsSafe) {
  Terminal terminal;
  terminal.width = 40;
  v1::Progress progress = Measuring();
  progress.set_step("\x1b[31mred\r\n");
  const std::string line = RenderProgress("disk.profile", progress, terminal, UnitFamily::kDecimal);
  EXPECT_LT(DisplayWidth(line), 40);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(ProgressLineTest, NothingWhereThereIsNoTerminal) {
  FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    ProgressLine line(fileno(file), UnitFamily::kDecimal);
    line.Show("disk.profile", Measuring());
  }
  std::fseek(file, 0, SEEK_END);
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace fleetmark::agent
