#include "common/render/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace fleetmark {
namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { old_.has_value() ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(OutputModeTest, ReadsBackItsNames) {
  for (const OutputMode mode : {OutputMode::kTable, OutputMode::kJson, OutputMode::kCsv}) {
    EXPECT_EQ(OutputModeFromName(OutputModeName(mode)), mode);
  }
  EXPECT_FALSE(OutputModeFromName("yaml").has_value());
  EXPECT_FALSE(OutputModeFromName("JSON").has_value());
}

TEST(WriteAllTest, ReportsAFullDisk) {  // C-150
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(WriteAll(fd, "text").code(), absl::StatusCode::kResourceExhausted);
  close(fd);
}

TEST(WriteAllTest, ReportsAReaderThatWentAway) {  // C-150
  const auto before = signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(WriteAll(ends[1], "text").code(), absl::StatusCode::kCancelled);
  close(ends[1]);
  signal(SIGPIPE, before);
}

TEST(WriteAllTest, ReportsABadDescriptor) { EXPECT_FALSE(WriteAll(-1, "text").ok()); }

TEST(WriteAllTest, DeliversEverythingThroughANonblockingPipe) {  // C-150
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  std::string sent(5 << 20, 'x');
  for (size_t i = 0; i < sent.size(); i += 7) sent[i] = static_cast<char>('a' + i % 26);
  std::string got;
  std::thread reader([&] {
    fcntl(ends[0], F_SETFL, 0);
    char buffer[65536];
    for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0; n = read(ends[0], buffer, sizeof buffer)) {
      got.append(buffer, static_cast<size_t>(n));
    }
  });
  EXPECT_TRUE(WriteAll(ends[1], sent).ok());
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_TRUE(got == sent);
}

TEST(DescribeTerminalTest, APipeIsNoTerminal) {  // C-151
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Terminal terminal = DescribeTerminal(ends[1]);
  EXPECT_FALSE(terminal.is_terminal);
  EXPECT_FALSE(terminal.can_redraw);
  EXPECT_FALSE(terminal.color);
  EXPECT_EQ(terminal.width, 0);
  EXPECT_TRUE(terminal.utf8);
  close(ends[0]);
  close(ends[1]);
}

TEST(DescribeTerminalTest, RespectsTermNoColorAndLocale) {  // C-151
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) GTEST_SKIP() << "no pseudo-terminals here";
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) GTEST_SKIP() << "pseudo-terminal cannot be opened";
  winsize size{};
  size.ws_col = 40;
  ioctl(master, TIOCSWINSZ, &size);
  {
    const Variable term("TERM", "xterm"), color("NO_COLOR", nullptr), all("LC_ALL", "de_DE.UTF-8");
    const Terminal terminal = DescribeTerminal(slave);
    EXPECT_TRUE(terminal.is_terminal);
    EXPECT_TRUE(terminal.can_redraw);
    EXPECT_TRUE(terminal.color);
    EXPECT_TRUE(terminal.utf8);
    EXPECT_EQ(terminal.width, 40);
    EXPECT_EQ(RenderOptionsFor(terminal, UnitFamily::kIec).width, 40);
  }
  {
    const Variable term("TERM", "xterm"), color("NO_COLOR", "1"), all("LC_ALL", "C"), lang("LANG", "de_DE.UTF-8");
    const Terminal terminal = DescribeTerminal(slave);
    EXPECT_TRUE(terminal.can_redraw);
    EXPECT_FALSE(terminal.color);
    EXPECT_FALSE(terminal.utf8);
  }
  {
    const Variable term("TERM", "dumb"), color("NO_COLOR", nullptr);
    const Terminal terminal = DescribeTerminal(slave);
    EXPECT_FALSE(terminal.can_redraw);
    EXPECT_FALSE(terminal.color);
  }
  close(slave);
  close(master);
}

}  // namespace
}  // namespace fleetmark
