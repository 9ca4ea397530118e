// The scratch directory of one task: made and removed through descriptors, never through a symbolic link, and known by
// device and inode, so that nothing of anybody else is ever written to or removed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/platform/owned_fd.h"

namespace fleetmark::agent {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> IdentityOfFd(int fd);

// Opens an absolute path of a directory without following a symbolic link anywhere in it (openat2, or step by step).
// NotFound; FailedPrecondition: not a directory, or a link in the path (the real path is named).
absl::StatusOr<OwnedFd> OpenDirectoryWithoutLinks(const std::string& path);

// Makes the directory `name` (one component) below `parent`, mode 0700. AlreadyExists if something has that name.
absl::StatusOr<FileIdentity> MakeDirectoryAt(int parent, const std::string& name);

// Removes the directory `name` below `parent` with all in it; links in it are removed, not followed, and mounts are not
// entered. OK if it is gone, durably: also after a power cut. FailedPrecondition: it is not `expected` (unless absent:
// then only an empty one goes). Returns the bytes that were allocated to it.
absl::StatusOr<uint64_t> RemoveDirectoryAt(int parent, const std::string& name,
                                           const std::optional<FileIdentity>& expected);

}  // namespace fleetmark::agent
