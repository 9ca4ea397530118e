// A place for the server's Unix socket: private, and short enough for the kernel (107 bytes with the socket's name).
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "collector/private_postgres/account.h"

namespace fleetmark::collector {

// `<state>/postgres-socket` if its path can be used, else `$XDG_RUNTIME_DIR/fleetmark-<hash of state>`, else
// `/tmp/fleetmark-<uid>-<hash>`; made with mode 0700, and refused if it belongs to somebody else.
absl::StatusOr<std::string> EnsureSocketDirectory(const std::string& state_directory,
                                                  const std::optional<Account>& account);

// Whether a socket in `directory` can be named to the kernel and to libpq (which takes a comma for a list of hosts).
bool UsableForSocket(const std::string& directory);

}  // namespace fleetmark::collector
