#include "common/lifecycle/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetmark {
namespace {

// The digits at the start of the file; "" while the holder has not written them yet.
std::string HolderOf(int fd) {
  char buffer[32];
  const ssize_t size = pread(fd, buffer, sizeof buffer, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && buffer[i] >= '0' && buffer[i] <= '9'; ++i) pid += buffer[i];
  return pid;
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& directory, absl::Duration patience) {
  const std::string path = directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open lock file ", path, " as user ", geteuid(),
                                                   " (the directory must exist and be writable)"));
  }
  DirectoryLock lock(fd);
  const absl::Time deadline = absl::Now() + patience;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("lock ", path));
    if (absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(10));
      continue;
    }
    const std::string pid = HolderOf(fd);
    return absl::FailedPreconditionError(absl::StrCat("lock ", path, ": ", directory, " is in use by process ",
                                                      pid.empty() ? "(starting)" : pid,
                                                      "; stop that process or use another directory"));
  }
  const std::string content = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("write ", path));
  }
  return lock;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace fleetmark
