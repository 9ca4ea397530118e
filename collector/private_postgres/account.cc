#include "collector/private_postgres/account.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

std::optional<Account> LookUp(const char* name) {
  std::vector<char> buffer(16384);
  passwd entry = {};
  passwd* result = nullptr;
  if (getpwnam_r(name, &entry, buffer.data(), buffer.size(), &result) != 0 || result == nullptr) return std::nullopt;
  if (entry.pw_uid == 0) return std::nullopt;
  return Account{name, entry.pw_uid, entry.pw_gid};
}

bool MayEnter(const Account& account, const struct stat& info) {
  if (info.st_uid == account.uid) return (info.st_mode & S_IXUSR) != 0;
  if (info.st_gid == account.gid) return (info.st_mode & S_IXGRP) != 0;
  return (info.st_mode & S_IXOTH) != 0;
}

}  // namespace

absl::StatusOr<std::optional<Account>> ServerAccount() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"fleetmark", "postgres"}) {
    std::optional<Account> account = LookUp(name);
    if (account.has_value()) return account;
  }
  return absl::FailedPreconditionError(
      "start the private PostgreSQL: it does not run as root, and there is neither an account 'fleetmark' nor "
      "'postgres' to run it under; create one (useradd --system --no-create-home fleetmark), run the collector as an "
      "ordinary user, or give --database");
}

absl::Status CheckReachable(const Account& account, const std::string& directory) {
  for (size_t end = 0; end != std::string::npos;) {
    end = directory.find('/', end + 1);
    const std::string part = directory.substr(0, end);
    struct stat info = {};
    if (stat(part.c_str(), &info) != 0) {
      return absl::NotFoundError(absl::StrCat("look at ", part, ": ", std::strerror(errno)));
    }
    if (!MayEnter(account, info)) {
      return absl::PermissionDeniedError(
          absl::StrCat("start the private PostgreSQL in ", directory, " as user '", account.name,
                       "': that user may not enter ", part, "; allow it (chmod o+x '", part,
                       "') or choose another place with --state-dir, such as /var/lib/fleetmark"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
