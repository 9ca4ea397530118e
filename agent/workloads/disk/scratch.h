// ScratchDirectory: the task's own directory on the target, held open from Prepare to Cleanup, and the files a workload
// makes in it. Files are created with O_EXCL and never opened through a symbolic link; names are constants of the
// workloads. One thread at a time.
//
// If somebody mounts over, unmounts or replaces the directory meanwhile, CheckUnchanged() says so: what would be
// measured afterwards is another disk.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/platform/owned_fd.h"

namespace fleetmark::agent {

class ScratchDirectory {
 public:
  ScratchDirectory() = default;
  static absl::StatusOr<ScratchDirectory> Open(const std::string& path);

  // A new, empty file, open for reading and writing, direct if asked. AlreadyExists if there is one.
  absl::StatusOr<OwnedFd> Create(const std::string& name, bool direct = false);
  absl::StatusOr<OwnedFd> OpenExisting(const std::string& name, bool write, bool direct) const;

  // Removes the file if it is there and makes the removal durable.
  absl::Status Remove(const std::string& name);

  // FailedPrecondition when the path no longer leads to the directory that was opened.
  absl::Status CheckUnchanged() const;

  // Adds to an I/O error what a person needs: the file, bytes written so far, free bytes and inodes, the user, and what
  // to do (C-094, C-095, C-162). Cancelled and skipped pass through.
  absl::Status Explain(const absl::Status& status, const std::string& name, uint64_t bytes_written) const;

  std::string PathOf(const std::string& name) const;

 private:
  std::string path_;
  OwnedFd fd_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

}  // namespace fleetmark::agent
