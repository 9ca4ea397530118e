// Where results go: the output mode, stdout with its errors, and what the terminal can show.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/render/table.h"

namespace fleetmark {

enum class OutputMode { kTable, kJson, kCsv };
// "table", "json", "csv".
std::optional<OutputMode> OutputModeFromName(std::string_view name);
std::string_view OutputModeName(OutputMode mode);

// Writes all of it. Cancelled: the reader went away (EPIPE; end quietly). ResourceExhausted: the disk is full. Others
// by errno. REQUIRES: SIGPIPE is ignored (StopOnSignals does that).
absl::Status WriteAll(int fd, std::string_view text);
absl::Status WriteStdout(std::string_view text);

struct Terminal {
  bool is_terminal = false;
  bool can_redraw = false;  // a terminal that understands cursor movement (TERM is not "dumb")
  int width = 0;            // 0 = not a terminal or unknown
  bool color = false;       // can_redraw, and NO_COLOR is not set
  bool utf8 = false;        // by LC_ALL, LC_CTYPE, LANG; files and pipes too
};
// What descriptor `fd` (1 or 2) is, with the environment as it is now. For files and pipes utf8 is true.
Terminal DescribeTerminal(int fd);
RenderOptions RenderOptionsFor(const Terminal& terminal, UnitFamily units);

}  // namespace fleetmark
