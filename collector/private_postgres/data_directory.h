// The server's data directory: made once, whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "collector/private_postgres/account.h"
#include "collector/private_postgres/binaries.h"

namespace fleetmark::collector {

// Makes `data_directory` (0700, of `account`) with initdb unless it has been made already. Built beside it and renamed,
// so that a start that was killed in the middle leaves nothing half made. Output goes to `log_fd`.
absl::Status EnsureDataDirectory(const std::string& data_directory, const PostgresBinaries& binaries,
                                 const std::optional<Account>& account, int log_fd);

// Makes `directory` with mode 0700 for `account` (or this user) unless it exists; existing ones are taken as they are
// if they belong to that user and nobody else may enter. PERMISSION_DENIED otherwise.
absl::Status EnsurePrivateDirectory(const std::string& directory, const std::optional<Account>& account);

}  // namespace fleetmark::collector
