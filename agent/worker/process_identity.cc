#include "agent/worker/process_identity.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {
namespace {

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char buffer[4096];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  if (count < 0) return std::nullopt;
  return std::string(buffer, static_cast<size_t>(count));
}

struct Stat {
  char state = 0;
  uint64_t start_ticks = 0;
};

// The command's name may hold blanks and parentheses: fields are counted from the last one.
std::optional<Stat> ReadStat(pid_t pid) {
  const std::optional<std::string> text = ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!text.has_value()) return std::nullopt;
  const size_t end_of_name = text->rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 2 >= text->size()) return std::nullopt;
  std::string_view rest = std::string_view(*text).substr(end_of_name + 2);
  Stat stat;
  stat.state = rest.front();
  for (int field = 3; field < 22; ++field) {
    const size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return stat;
    rest.remove_prefix(blank + 1);
  }
  std::from_chars(rest.data(), rest.data() + rest.size(), stat.start_ticks);
  return stat;
}

std::string BootId() {
  std::string id = ReadSmallFile("/proc/sys/kernel/random/boot_id").value_or("");
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  return id;
}

}  // namespace

ProcessIdentity IdentityOf(pid_t pid) {
  ProcessIdentity identity;
  identity.pid = pid;
  if (const std::optional<Stat> stat = ReadStat(pid)) identity.start_ticks = stat->start_ticks;
  identity.boot_id = BootId();
  return identity;
}

bool IsAlive(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != BootId()) return false;
  if (identity.start_ticks == 0) return ::kill(identity.pid, 0) == 0 || errno == EPERM;
  const std::optional<Stat> stat = ReadStat(identity.pid);
  return stat.has_value() && stat->start_ticks == identity.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

char ProcessState(pid_t pid) {
  const std::optional<Stat> stat = ReadStat(pid);
  return stat.has_value() ? stat->state : '\0';
}

}  // namespace fleetmark::agent
