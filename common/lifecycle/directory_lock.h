// DirectoryLock: the right to be the one process that uses a state directory.
//
// An advisory lock (flock) on <directory>/lock, which holds the owner's process id. Kept from Acquire() to the
// destructor; the system frees it when the process dies, however it dies. The file itself stays. Not inherited by
// programs that are exec'd. Movable; not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

class DirectoryLock {
 public:
  // `directory` must exist and be writable. FailedPrecondition after `patience` names the process that holds it, or the
  // other user whose lock file cannot be opened. A daemon has some patience, for a command that only looks.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory,
                                               absl::Duration patience = absl::ZeroDuration());

  // To look at what is in the directory: keeps a new owner out, not others who look. Makes and writes nothing.
  // FailedPrecondition while there is an owner; NotFound if there never was one.
  static absl::StatusOr<DirectoryLock> AcquireShared(const std::string& directory);

  // The process id that its owner, or the last one, wrote; NotFound if there is none.
  static absl::StatusOr<int64_t> Owner(const std::string& directory);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace fleetmark
