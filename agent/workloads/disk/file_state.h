// What a file and its device must be in before a phase may be timed. All functions poll `stop` (or are short) so that a
// cancel is answered within 200 ms wherever the kernel lets go.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/platform/storage_stack.h"

namespace fleetmark::agent {

using StopCheck = std::function<bool()>;

// Makes the file's data and metadata durable. Long writebacks go out in slices of 8 MiB, always one ahead, so that
// `stop` is looked at; then fsync. Cancelled if stopped.
absl::Status FlushFile(int fd, uint64_t bytes, const StopCheck& stop);

// Every block of [0, bytes) has been allocated and written: no hole, no preallocated extent (C-002). FailedPrecondition
// says where not. Where the file system does not tell extents, the count of allocated blocks decides.
absl::Status CheckFullyWritten(int fd, uint64_t bytes);

// Drops the file's clean pages from the cache, again if some stay. Returns the share that is still there, 0..1 (0 if
// unknown). REQUIRES: flushed.
double EvictFile(int fd, uint64_t bytes, bool allow_cache_drop);

// Waits until no page is under writeback and no request in flight on the disk, `limit` at most. False: still busy.
bool WaitUntilSettled(const StackCounters& counters, absl::Duration limit, const StopCheck& stop);

}  // namespace fleetmark::agent
