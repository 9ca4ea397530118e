#include "agent/worker/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

namespace fleetmark::agent {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case ENOTDIR:
    case ELOOP:
    case EROFS:
      return absl::FailedPreconditionError(message);
    default:
      return absl::InternalError(message);
  }
}

std::string RealPath(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) != nullptr ? std::string(buffer) : std::string();
}

// -1 with errno; ENOSYS where the system or a sandbox has no openat2.
int OpenInOneCall(const std::string& path) {
#if defined(__linux__) && defined(SYS_openat2)
  open_how how = {};
  how.flags = static_cast<uint64_t>(kOpenDirectory & ~O_NOFOLLOW);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how));
#else
  (void)path;
  errno = ENOSYS;
  return -1;
#endif
}

int OpenStepByStep(const std::string& path) {
  OwnedFd here(::open("/", kOpenDirectory));
  std::string_view rest = path;
  while (here.valid() && !rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string component(rest.substr(0, slash));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      errno = ELOOP;
      return -1;
    }
    here = OwnedFd(::openat(here.get(), component.c_str(), kOpenDirectory));
  }
  return here.Release();
}

absl::Status RemoveContents(int directory, uint64_t device, int depth, uint64_t& bytes) {
  if (depth > 32) return absl::FailedPreconditionError("scratch directory is nested too deeply");
  OwnedFd copy(::openat(directory, ".", kOpenDirectory));
  DIR* stream = copy.valid() ? ::fdopendir(copy.get()) : nullptr;
  if (stream == nullptr) return ErrnoStatus(errno, "list scratch directory");
  copy.Release();  // the stream's now
  absl::Status result;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info = {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(info.st_mode)) {
      if (::unlinkat(directory, name.c_str(), 0) == 0) {
        bytes += static_cast<uint64_t>(info.st_blocks) * 512;
      } else if (errno != ENOENT) {
        result.Update(ErrnoStatus(errno, absl::StrCat("remove scratch file ", name)));
      }
      continue;
    }
    OwnedFd child(::openat(directory, name.c_str(), kOpenDirectory));
    if (!child.valid() || static_cast<uint64_t>(info.st_dev) != device) {
      result.Update(absl::FailedPreconditionError(absl::StrCat("scratch directory holds a mount: ", name)));
      continue;
    }
    result.Update(RemoveContents(child.get(), device, depth + 1, bytes));
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      result.Update(ErrnoStatus(errno, absl::StrCat("remove scratch directory ", name)));
    }
  }
  ::closedir(stream);
  return result;
}

}  // namespace

std::optional<FileIdentity> IdentityOfFd(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return FileIdentity{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

absl::StatusOr<OwnedFd> OpenDirectoryWithoutLinks(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return absl::InvalidArgumentError(absl::StrCat("\"", path, "\" is not an absolute path"));
  }
  int fd = OpenInOneCall(path);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == E2BIG)) fd = OpenStepByStep(path);
  if (fd >= 0) return OwnedFd(fd);
  const int error = errno;
  const std::string real = RealPath(path);
  if ((error == ELOOP || error == ENOTDIR) && !real.empty() && real != path) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " leads through a symbolic link; name the real directory instead: ", real));
  }
  if (error == ENOTDIR) return absl::FailedPreconditionError(absl::StrCat(path, " is not a directory"));
  return ErrnoStatus(error, absl::StrCat("open directory ", path));
}

absl::StatusOr<FileIdentity> MakeDirectoryAt(int parent, const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not the name of a directory"));
  }
  if (::mkdirat(parent, name.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make scratch directory ", name));
  }
  const OwnedFd made(::openat(parent, name.c_str(), kOpenDirectory));
  const std::optional<FileIdentity> identity = made.valid() ? IdentityOfFd(made.get()) : std::nullopt;
  if (!identity.has_value()) return ErrnoStatus(errno, absl::StrCat("open scratch directory ", name));
  return *identity;
}

absl::StatusOr<uint64_t> RemoveDirectoryAt(int parent, const std::string& name,
                                           const std::optional<FileIdentity>& expected) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not the name of a directory"));
  }
  uint64_t bytes = 0;
  if (expected.has_value()) {
    const OwnedFd directory(::openat(parent, name.c_str(), kOpenDirectory));
    if (!directory.valid()) {
      if (errno == ENOENT) return bytes;
      return ErrnoStatus(errno, absl::StrCat("open scratch directory ", name));
    }
    const std::optional<FileIdentity> found = IdentityOfFd(directory.get());
    if (found != expected) {
      return absl::FailedPreconditionError(absl::StrCat(name, " is not the directory that the task had made"));
    }
    const absl::Status removed = RemoveContents(directory.get(), expected->device, 0, bytes);
    if (!removed.ok()) return removed;
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove scratch directory ", name));
  }
  // Its manifest goes next: a power cut must not bring it back without one.
  if (::fsync(parent) != 0 && errno != EINVAL && errno != EROFS) {
    return ErrnoStatus(errno, absl::StrCat("make the removal of ", name, " durable"));
  }
  return bytes;
}

}  // namespace fleetmark::agent
