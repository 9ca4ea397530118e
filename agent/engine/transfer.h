// What a blocking engine does with one operation, and every engine with one that came back short or failed.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "agent/engine/io_job.h"

namespace fleetmark::agent {

inline ssize_t Transfer(int fd, bool write, uint8_t* buffer, uint32_t bytes, uint64_t offset) noexcept {
  const auto at = static_cast<off_t>(offset);
  return write ? pwrite(fd, buffer, bytes, at) : pread(fd, buffer, bytes, at);
}

// An operation moved only part of its block: asks once more for all of it, which tells the true reason. 0: it went
// through this time. Not for the fast path.
inline int RetryTransfer(int fd, bool write, uint8_t* buffer, uint32_t bytes, uint64_t offset) noexcept {
  ssize_t moved;
  do {
    moved = Transfer(fd, write, buffer, bytes, offset);
  } while (moved < 0 && errno == EINTR);
  if (moved == static_cast<ssize_t>(bytes)) return 0;
  if (moved < 0) return errno;
  return write ? ENOSPC : EIO;  // still short: no room for the rest, or a file that was cut
}

}  // namespace fleetmark::agent
