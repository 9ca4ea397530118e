// DirectoryLock: the right to be the one process that uses a state directory.
//
// An advisory lock (flock) on <directory>/lock, which holds the owner's process id. Kept from Acquire() to the
// destructor; the system frees it when the process dies, however it dies. The file itself stays. Not inherited by
// programs that are exec'd. Movable; not thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

class DirectoryLock {
 public:
  // `directory` must exist and be writable. FailedPrecondition names the process that holds it, after `patience`: a
  // daemon has some, for a command that only looks.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory,
                                               absl::Duration patience = absl::ZeroDuration());

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fleetmark
