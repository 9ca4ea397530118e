// Where the PostgreSQL server programs are, and of which major version.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark::collector {

struct PostgresBinaries {
  std::string directory;  // holds postgres and initdb
  int major = 0;          // 15
};

// The major version that made `data_directory` (its PG_VERSION); nullopt if there is no such file.
absl::StatusOr<std::optional<int>> DataMajorVersion(const std::string& data_directory);

// Looks in the usual places (Debian, PGDG's RPMs, Homebrew, pg_config). `wanted_major`: only that one, since data of
// one major version cannot be used by another; without it, the newest of at least 13. NOT_FOUND says what to install;
// FAILED_PRECONDITION: other versions are there, but not the wanted one, with the steps to take.
absl::StatusOr<PostgresBinaries> FindPostgresBinaries(std::optional<int> wanted_major);

// The same choice among what has been found; pure, for the tests.
absl::StatusOr<PostgresBinaries> ChooseBinaries(const std::vector<PostgresBinaries>& found,
                                                std::optional<int> wanted_major);

}  // namespace fleetmark::collector
