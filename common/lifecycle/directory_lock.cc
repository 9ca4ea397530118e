#include "common/lifecycle/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetmark {
namespace {

std::string PathIn(const std::string& directory) { return directory + "/lock"; }

// The digits at the start of the file; "" while the holder has not written them yet.
std::string HolderOf(int fd) {
  char buffer[32];
  const ssize_t size = pread(fd, buffer, sizeof buffer, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && buffer[i] >= '0' && buffer[i] <= '9'; ++i) pid += buffer[i];
  return pid;
}

absl::Status CannotOpen(const std::string& path, int error) {
  struct stat file {};
  if (error == EACCES && lstat(path.c_str(), &file) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("open lock file ", path, " as user ", geteuid(), ": it belongs to user ", file.st_uid,
                     ", who may be using the directory; be that user, or give the file away with chown"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat("open lock file ", path, " as user ", geteuid(),
                                                 " (the directory must exist and be writable)"));
}

// OK once locked as `operation` says.
absl::Status Lock(int fd, int operation, const std::string& directory, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("lock ", PathIn(directory)));
    if (absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(10));
      continue;
    }
    const std::string pid = HolderOf(fd);
    return absl::FailedPreconditionError(absl::StrCat("lock ", PathIn(directory), ": ", directory,
                                                      " is in use by process ", pid.empty() ? "(starting)" : pid,
                                                      "; stop that process or use another directory"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& directory, absl::Duration patience) {
  const std::string path = PathIn(directory);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return CannotOpen(path, errno);
  DirectoryLock lock(fd);
  if (const absl::Status status = Lock(fd, LOCK_EX, directory, patience); !status.ok()) return status;
  const std::string content = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("write ", path));
  }
  return lock;
}

absl::StatusOr<DirectoryLock> DirectoryLock::AcquireShared(const std::string& directory) {
  const std::string path = PathIn(directory);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("open lock file ", path, " as user ", geteuid()));
  DirectoryLock lock(fd);
  if (const absl::Status status = Lock(fd, LOCK_SH, directory, absl::ZeroDuration()); !status.ok()) return status;
  return lock;
}

absl::StatusOr<int64_t> DirectoryLock::Owner(const std::string& directory) {
  const DirectoryLock file(open(PathIn(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  int64_t pid = 0;
  if (file.fd_ < 0 || !absl::SimpleAtoi(HolderOf(file.fd_), &pid)) {
    return absl::NotFoundError(absl::StrCat("no process id in ", PathIn(directory)));
  }
  return pid;
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
