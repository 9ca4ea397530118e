#include "common/render/output.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Environment(name);
    if (value.empty()) continue;
    const std::string text = absl::AsciiStrToLower(std::string(value));
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

std::optional<OutputMode> OutputModeFromName(std::string_view name) {
  for (const OutputMode mode : {OutputMode::kTable, OutputMode::kJson, OutputMode::kCsv}) {
    if (name == OutputModeName(mode)) return mode;
  }
  return std::nullopt;
}

std::string_view OutputModeName(OutputMode mode) {
  switch (mode) {
    case OutputMode::kJson:
      return "json";
    case OutputMode::kCsv:
      return "csv";
    case OutputMode::kTable:
      break;
  }
  return "table";
}

absl::Status WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd watched{fd, POLLOUT, 0};
      poll(&watched, 1, -1);
      continue;
    }
    const int error = errno;
    if (error == EPIPE) return absl::CancelledError("the reader of the output is gone");
    const std::string what = absl::StrCat("write output (descriptor ", fd, ")");
    if (error == ENOSPC || error == EDQUOT) {
      return absl::ResourceExhaustedError(absl::StrCat(what, ": no space left; the output is cut off"));
    }
    return absl::ErrnoToStatus(error, what);
  }
  return absl::OkStatus();
}

absl::Status WriteStdout(std::string_view text) { return WriteAll(STDOUT_FILENO, text); }

Terminal DescribeTerminal(int fd) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  terminal.utf8 = !terminal.is_terminal || LocaleIsUtf8();
  if (!terminal.is_terminal) return terminal;
  const std::string_view type = Environment("TERM");
  terminal.can_redraw = !type.empty() && type != "dumb";
  terminal.color = terminal.can_redraw && Environment("NO_COLOR").empty();
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
  return terminal;
}

RenderOptions RenderOptionsFor(const Terminal& terminal, UnitFamily units) {
  RenderOptions options;
  options.width = terminal.width;
  options.color = terminal.color;
  options.utf8 = terminal.utf8;
  options.units = units;
  return options;
}

}  // namespace fleetmark
