#include "agent/workloads/disk/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/engine/io_engine.h"
#include "agent/workloads/workload.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

std::string Bytes(double bytes) { return FormatQuantity(bytes, Unit::kBytes); }

std::string WhatToDo(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return "free space on the target, or choose another";
    case absl::StatusCode::kDataLoss:
      return "look into the kernel's log: the disk or its link reports errors";
    case absl::StatusCode::kPermissionDenied:
      return absl::StrFormat("user %d may not; give it the right to write there, or choose another target", geteuid());
    case absl::StatusCode::kFailedPrecondition:
      return "choose a target that can be written";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<ScratchDirectory> ScratchDirectory::Open(const std::string& path) {
  ScratchDirectory directory;
  directory.path_ = path;
  directory.fd_ = OwnedFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.fd_.valid()) return IoErrorStatus(errno, absl::StrCat("open scratch directory ", path));
  struct stat facts {};
  if (fstat(directory.fd_.get(), &facts) != 0) return IoErrorStatus(errno, absl::StrCat("stat ", path));
  directory.device_ = facts.st_dev;
  directory.inode_ = facts.st_ino;
  return directory;
}

absl::StatusOr<OwnedFd> ScratchDirectory::Create(const std::string& name, bool direct) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | (direct ? O_DIRECT : 0);
  OwnedFd fd(openat(fd_.get(), name.c_str(), flags, 0600));
  if (!fd.valid()) return IoErrorStatus(errno, absl::StrCat("create ", PathOf(name)));
  return fd;
}

absl::StatusOr<OwnedFd> ScratchDirectory::OpenExisting(const std::string& name, bool write, bool direct) const {
  const int flags = (write ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | (direct ? O_DIRECT : 0);
  OwnedFd fd(openat(fd_.get(), name.c_str(), flags));
  if (!fd.valid()) return IoErrorStatus(errno, absl::StrCat("open ", PathOf(name), direct ? " with O_DIRECT" : ""));
  return fd;
}

absl::Status ScratchDirectory::Remove(const std::string& name) {
  if (!fd_.valid()) return absl::OkStatus();
  if (unlinkat(fd_.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return IoErrorStatus(errno, absl::StrCat("remove ", PathOf(name)));
  }
  if (fsync(fd_.get()) != 0 && errno != EINVAL) {
    return IoErrorStatus(errno, absl::StrCat("fsync directory ", path_));
  }
  return absl::OkStatus();
}

absl::Status ScratchDirectory::CheckUnchanged() const {
  struct stat facts {};
  if (stat(path_.c_str(), &facts) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the target changed while it was measured: ", path_, " is gone; was it unmounted?"));
  }
  if (facts.st_dev == device_ && facts.st_ino == inode_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the target changed while it was measured: ", path_,
                                                    " is now another directory; was something mounted over it?"));
}

absl::Status ScratchDirectory::Explain(const absl::Status& status, const std::string& name,
                                       uint64_t bytes_written) const {
  if (status.ok() || absl::IsCancelled(status) || IsSkipped(status)) return status;
  std::string message = absl::StrCat(PathOf(name), ": ", std::string(status.message()), "; ",
                                     Bytes(static_cast<double>(bytes_written)), " written so far");
  struct statvfs space {};
  if (fd_.valid() && fstatvfs(fd_.get(), &space) == 0) {
    absl::StrAppend(&message, ", ", Bytes(static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize)),
                    " and ", space.f_favail, " inodes free");
  }
  const std::string advice = WhatToDo(status);
  if (!advice.empty()) absl::StrAppend(&message, "; ", advice);
  return absl::Status(status.code(), message);
}

std::string ScratchDirectory::PathOf(const std::string& name) const { return absl::StrCat(path_, "/", name); }

}  // namespace fleetmark::agent
