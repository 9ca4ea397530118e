#include "agent/executor/exit_reason.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {

uint64_t ReadOomKills() {
  const OwnedFd file(::open("/proc/vmstat", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return 0;
  char buffer[32768];
  const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
  if (count <= 0) return 0;
  const std::string_view text(buffer, static_cast<size_t>(count));
  constexpr std::string_view kKey = "\noom_kill ";
  const size_t position = text.find(kKey);
  if (position == std::string_view::npos) return 0;
  uint64_t kills = 0;
  const char* begin = text.data() + position + kKey.size();
  std::from_chars(begin, text.data() + text.size(), kills);
  return kills;
}

std::string DescribeExit(const WorkerExit& exit, bool out_of_memory, const std::string& last_words) {
  std::string reason;
  if (out_of_memory) {
    reason = "oom_killed: the kernel ended the worker for want of memory; ask for less, or free some";
  } else if (exit.signal.has_value()) {
    reason = absl::StrCat("the worker was killed by signal ", *exit.signal, " (", strsignal(*exit.signal), ")");
  } else if (exit.code.has_value()) {
    reason = absl::StrCat("the worker ended with exit code ", *exit.code, " before it was finished");
  } else {
    reason = "the worker is gone";
  }
  if (!last_words.empty()) absl::StrAppend(&reason, "; its last words: ", last_words);
  return reason;
}

std::string DescribeState(pid_t pid) {
  switch (ProcessState(pid)) {
    case 'D':
      return " (it is in state D: it waits for a device and cannot be interrupted)";
    case 'T':
    case 't':
      return " (it is in state T: somebody has stopped it)";
    default:
      return "";
  }
}

std::string_view OutcomeName(v1::TaskOutcome outcome) {
  switch (outcome) {
    case v1::TASK_OUTCOME_SUCCEEDED:
      return "succeeded";
    case v1::TASK_OUTCOME_FAILED:
      return "failed";
    case v1::TASK_OUTCOME_SKIPPED:
      return "skipped";
    case v1::TASK_OUTCOME_CANCELLED:
      return "cancelled";
    case v1::TASK_OUTCOME_INTERRUPTED:
      return "interrupted";
    default:
      return "ended";
  }
}

}  // namespace fleetmark::agent
