// The user's data source name: checked, and completed with the time limits that keep a silent network from hanging us.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::collector {

// `dsn`: a URI ("postgres://user@host/db"), a libpq connection string ("host=... dbname=..." or "service=name").
// INVALID_ARGUMENT if it cannot be parsed, or if it contains a password: that would stand in argv, in logs and in error
// messages. What the user sets himself is kept.
absl::StatusOr<std::string> CompleteDsn(const std::string& dsn);

}  // namespace fleetmark::collector
