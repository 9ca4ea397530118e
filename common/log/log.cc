#include "common/log/log.h"

#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/text/text.h"

namespace fleetmark {
namespace {

void Write(char level, std::string_view area, std::string_view text) {
  std::string line = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  line += ' ';
  line += level;
  line += ' ';
  line.append(area);
  line += ": ";
  line += EscapeForTerminal(text);
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void LogInfo(std::string_view area, std::string_view text) { Write('I', area, text); }
void LogWarning(std::string_view area, std::string_view text) { Write('W', area, text); }
void LogError(std::string_view area, std::string_view text) { Write('E', area, text); }

}  // namespace fleetmark
