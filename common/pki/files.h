// Small files with secrets or identities in them: written whole or not at all, synced, never world-readable by
// accident.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark {

// At most 1 MiB. NOT_FOUND, PERMISSION_DENIED, ... with the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Makes a new file with exactly this mode; ALREADY_EXISTS if there is one, also a dangling link. Synced.
absl::Status CreateFileExclusively(const std::string& path, std::string_view contents, mode_t mode);

// Replaces or makes the file through a temporary one beside it and a rename; synced.
absl::Status ReplaceFile(const std::string& path, std::string_view contents, mode_t mode);

// Makes the directory and missing parents with 0700; one that exists keeps its mode.
absl::Status MakePrivateDirectory(const std::string& path);

// PERMISSION_DENIED if others than the owner (or root) may read it; the message has the chmod to type.
absl::Status CheckPrivate(const std::string& path);

bool FileExists(const std::string& path);

}  // namespace fleetmark
