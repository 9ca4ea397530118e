#include "common/pki/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetmark {
namespace {

constexpr size_t kLargestFile = 1 << 20;

absl::Status SystemError(const char* what, const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WriteAll(int fd, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(fd) != 0) return SystemError("sync", path);
  return absl::OkStatus();
}

// The entry in the directory must survive a power cut as well; a file system that cannot sync directories is left be.
void SyncDirectoryOf(const std::string& path) {
  const int fd = ::open(ParentOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// Writes to an open new file, closes it, and removes it again on errors.
absl::Status FillNewFile(int fd, const std::string& path, std::string_view contents, mode_t mode) {
  absl::Status status = ::fchmod(fd, mode) == 0 ? absl::OkStatus() : SystemError("set the mode of", path);
  if (status.ok()) status = WriteAll(fd, contents, path);
  if (::close(fd) != 0 && status.ok()) status = SystemError("close", path);
  if (!status.ok()) ::unlink(path.c_str());
  return status;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError("open", path);
  std::string contents;
  char buffer[16384];
  while (contents.size() <= kLargestFile) {
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const absl::Status status = SystemError("read", path);
      ::close(fd);
      return status;
    }
    if (count == 0) break;
    contents.append(buffer, static_cast<size_t>(count));
  }
  ::close(fd);
  if (contents.size() > kLargestFile)
    return absl::FailedPreconditionError(absl::StrCat("read ", path, ": larger than 1 MiB"));
  return contents;
}

absl::Status CreateFileExclusively(const std::string& path, std::string_view contents, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("make", path);
  const absl::Status status = FillNewFile(fd, path, contents, mode);
  if (status.ok()) SyncDirectoryOf(path);
  return status;
}

absl::Status ReplaceFile(const std::string& path, std::string_view contents, mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return SystemError("make a file beside", path);
  const absl::Status status = FillNewFile(fd, temporary, contents, mode);
  if (!status.ok()) return status;
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status error = SystemError("replace", path);
    ::unlink(temporary.c_str());
    return error;
  }
  SyncDirectoryOf(path);
  return absl::OkStatus();
}

absl::Status MakePrivateDirectory(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("make the directory ", path, ": there is a file of this name"));
  }
  const std::string parent = ParentOf(path);
  if (parent != path && parent != "." && parent != "/") {
    const absl::Status status = MakePrivateDirectory(parent);
    if (!status.ok()) return status;
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("make the directory", path);
  return absl::OkStatus();
}

absl::Status CheckPrivate(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return SystemError("look at", path);
  if ((info.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrFormat("use the private key %s: its mode %04o lets others read it; type: chmod 600 %s", path,
                      info.st_mode & 07777, path));
}

bool FileExists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace fleetmark
