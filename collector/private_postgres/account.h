// The account the server runs under. PostgreSQL refuses to run as root, so root gives it to an unprivileged one; an
// ordinary user runs it as himself.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark::collector {

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

// nullopt: this process is not root, the server runs as its user. As root: the account `fleetmark` if it exists, else
// `postgres`; FAILED_PRECONDITION with the command that makes one if there is neither.
absl::StatusOr<std::optional<Account>> ServerAccount();

// Whether `account` can go down to `directory`: PERMISSION_DENIED names the first directory on the way that it may not
// enter, and what to do. Looks at the mode bits and the owner, as the kernel does without ACLs.
absl::Status CheckReachable(const Account& account, const std::string& directory);

}  // namespace fleetmark::collector
