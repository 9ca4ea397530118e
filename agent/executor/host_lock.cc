#include "agent/executor/host_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace fleetmark::agent {
namespace {

constexpr char kFileName[] = "/fleetmark-measuring.lock";
constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

// A file of another user can be opened for reading, which is enough for flock; creating over it could not (see
// fs.protected_regular), so that comes second.
OwnedFd OpenOrCreate(const std::string& path) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    OwnedFd fd(::open(path.c_str(), kFlags));
    if (fd.valid() || errno != ENOENT) return fd;
    fd = OwnedFd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0644));
    if (fd.valid()) {
      ::fchmod(fd.get(), 0644);  // whatever the umask says: others must be able to read it
      return fd;
    }
    if (errno != EEXIST) return fd;
  }
  return OwnedFd();
}

bool IsStillAt(int fd, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

HostLock::HostLock(std::string directory) : directory_(std::move(directory)) {}

OwnedFd HostLock::OpenFile() {
  std::vector<std::string> directories = {"/run/lock", "/var/tmp", "/tmp"};
  if (!directory_.empty()) directories = {directory_};
  for (const std::string& directory : directories) {
    path_ = directory + kFileName;
    OwnedFd fd = OpenOrCreate(path_);
    if (fd.valid()) return fd;
  }
  return OwnedFd();
}

bool HostLock::TryAcquire() {
  if (file_.valid()) return true;
  for (int attempt = 0; attempt < 3; ++attempt) {
    OwnedFd fd = OpenFile();
    if (!fd.valid()) return true;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
    // Whoever had it may have removed the file between our opening and locking it.
    if (IsStillAt(fd.get(), path_)) {
      file_ = std::move(fd);
      return true;
    }
  }
  return false;
}

void HostLock::Release() {
  if (!file_.valid()) return;
  ::unlink(path_.c_str());  // while it is locked; refused where it is another user's, and then it stays
  file_.Close();
}

}  // namespace fleetmark::agent
