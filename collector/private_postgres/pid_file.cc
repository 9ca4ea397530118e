#include "collector/private_postgres/pid_file.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/log/log.h"

namespace fleetmark::collector {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Exists and is not a zombie.
bool IsAlive(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  const std::optional<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.has_value()) return true;  // no /proc here
  const size_t end = stat->rfind(')');
  return end == std::string::npos || end + 2 >= stat->size() || ((*stat)[end + 2] != 'Z' && (*stat)[end + 2] != 'X');
}

// A postmaster's working directory is its data directory. Where that cannot be told (no /proc), its pid file, which
// only it writes, must do.
bool IsPostmasterOf(pid_t pid, const std::string& data_directory) {
  struct stat proc = {};
  if (stat("/proc/self", &proc) != 0) return true;
  struct stat theirs = {};
  struct stat ours = {};
  if (stat(absl::StrCat("/proc/", pid, "/cwd").c_str(), &theirs) != 0) return false;
  if (stat(data_directory.c_str(), &ours) != 0) return false;
  return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

bool WaitUntilGone(pid_t pid, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (IsAlive(pid)) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace

std::optional<PostmasterPid> ParsePostmasterPid(std::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  PostmasterPid result;
  int pid = 0;
  if (!absl::SimpleAtoi(lines[0], &pid) || pid <= 1) return std::nullopt;
  result.pid = pid;
  if (lines.size() > 1) result.data_directory = lines[1];
  result.ready = lines.size() > 7 && absl::StripAsciiWhitespace(lines[7]) == "ready";
  return result;
}

std::optional<PostmasterPid> ReadPostmasterPid(const std::string& data_directory) {
  const std::optional<std::string> text = ReadFile(data_directory + "/postmaster.pid");
  if (!text.has_value()) return std::nullopt;
  return ParsePostmasterPid(*text);
}

absl::StatusOr<bool> StopOrphan(const std::string& data_directory, absl::Duration patience) {
  const std::optional<PostmasterPid> left = ReadPostmasterPid(data_directory);
  if (!left.has_value() || !IsAlive(left->pid) || !IsPostmasterOf(left->pid, data_directory)) return false;
  LogWarning("postgres", absl::StrCat("a PostgreSQL of an earlier collector (pid ", left->pid, ") still runs in ",
                                      data_directory, ": stopping it"));
  for (const int signal : {SIGINT, SIGQUIT, SIGKILL}) {
    if (kill(left->pid, signal) != 0) {
      if (errno == ESRCH) return true;
      return absl::PermissionDeniedError(absl::StrCat("stop the PostgreSQL with pid ", left->pid, " in ",
                                                      data_directory,
                                                      ": it belongs to another user; stop it and start again"));
    }
    if (WaitUntilGone(left->pid, patience)) return true;
  }
  return absl::DeadlineExceededError(
      absl::StrCat("stop the PostgreSQL with pid ", left->pid, " in ", data_directory, ": it does not end"));
}

}  // namespace fleetmark::collector
