#include "collector/private_postgres/data_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "collector/private_postgres/child_process.h"

namespace fleetmark::collector {
namespace {

absl::Status SystemError(const std::string& what, int error) {
  const std::string text = absl::StrCat(what, ": ", std::strerror(error));
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(text);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

void SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

absl::Status EnsurePrivateDirectory(const std::string& directory, const std::optional<Account>& account) {
  const uid_t owner = account.has_value() ? account->uid : geteuid();
  if (mkdir(directory.c_str(), 0700) == 0) {
    if (account.has_value() && chown(directory.c_str(), account->uid, account->gid) != 0) {
      return SystemError(absl::StrCat("give ", directory, " to user '", account->name, "'"), errno);
    }
    return absl::OkStatus();
  }
  if (errno != EEXIST) return SystemError(absl::StrCat("create ", directory), errno);
  struct stat info = {};
  if (lstat(directory.c_str(), &info) != 0) return SystemError(absl::StrCat("look at ", directory), errno);
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(directory, " is in the way: it is not a directory"));
  }
  if (info.st_uid != owner) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory, " belongs to user number ", info.st_uid, ", not to ", owner,
                     account.has_value() ? absl::StrCat(" ('", account->name, "')") : "",
                     "; run the collector as the user who ran it before, or choose another --state-dir"));
  }
  if ((info.st_mode & 077) != 0 && chmod(directory.c_str(), 0700) != 0) {
    return SystemError(absl::StrCat("make ", directory, " private (chmod 0700)"), errno);
  }
  return absl::OkStatus();
}

absl::Status EnsureDataDirectory(const std::string& data_directory, const PostgresBinaries& binaries,
                                 const std::optional<Account>& account, int log_fd) {
  struct stat info = {};
  if (stat((data_directory + "/PG_VERSION").c_str(), &info) == 0) {
    return EnsurePrivateDirectory(data_directory, account);
  }
  if (lstat(data_directory.c_str(), &info) == 0 && rmdir(data_directory.c_str()) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        data_directory, " is in the way: it is neither empty nor a PostgreSQL data directory; move it away"));
  }
  const std::string building = data_directory + ".new";
  std::error_code error;
  std::filesystem::remove_all(building, error);
  if (error) return absl::InternalError(absl::StrCat("remove unfinished ", building, ": ", error.message()));
  if (absl::Status status = EnsurePrivateDirectory(building, account); !status.ok()) return status;

  ChildOptions options;
  options.arguments = {binaries.directory + "/initdb", "-D", building, "--locale=C", "--encoding=UTF8", "--auth=trust",
                       "--username=fleetmark"};
  options.account = account;
  options.output_fd = log_fd;
  options.signal_when_parent_dies = SIGKILL;
  const absl::StatusOr<pid_t> pid = StartChild(options);
  if (!pid.ok()) return pid.status();
  const std::optional<int> status = WaitForChild(*pid, absl::InfiniteDuration());
  if (status.value_or(1) != 0) {
    return absl::InternalError(
        absl::StrCat("create the database in ", data_directory, ": initdb ", DescribeExit(status.value_or(1))));
  }
  if (rename(building.c_str(), data_directory.c_str()) != 0) {
    return SystemError(absl::StrCat("rename ", building, " to ", data_directory), errno);
  }
  SyncDirectory(std::filesystem::path(data_directory).parent_path().string());
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
