// Brings the schema of a database up to what this program knows.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "collector/store/database.h"
#include "collector/store/migrations.h"

namespace fleetmark::collector {

// Applies what is missing, each migration in a transaction of its own together with its version row, under an advisory
// lock: of several collectors that start at once one does it and the others find it done.
// FAILED_PRECONDITION: the schema is newer than this program (names both versions), the server is older than 13, or the
// database holds tables that are not ours.
absl::Status Migrate(Database& database, const std::vector<Migration>& migrations);

}  // namespace fleetmark::collector
