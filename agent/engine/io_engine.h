// IoEngine: a way to keep I/O in flight. Three of them: io_uring, a pool of blocking threads, plain blocking calls.
//
// Made by the factories below, owned by the caller, used by one thread at a time. Run() starts the job's threads, waits
// and joins them. It can be asked to stop by the `cancelled` hook and answers within 100 ms plus the time the kernel
// needs to return what is in flight.
//
// Errors of Run(): Cancelled; Unavailable where this engine cannot be used on this system (others may); the errno of
// the first failed operation with its offset (ResourceExhausted for ENOSPC, DataLoss for EIO, FailedPrecondition for
// EROFS,
// ...), in which case `result` holds what was done until then.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/engine/io_job.h"

namespace fleetmark::agent {

class IoEngine {
 public:
  virtual ~IoEngine() = default;

  // "io_uring", "threads", "sync".
  virtual std::string_view name() const = 0;

  // Whether it can keep the job's depth in flight at all (plain blocking calls: depth 1 only).
  virtual bool Supports(const IoJob& job) const = 0;

  virtual absl::Status Run(const IoJob& job, const JobHooks& hooks, JobResult& result) = 0;
};

std::unique_ptr<IoEngine> MakeThreadsEngine();  // one blocking thread per operation in flight, at most 512
std::unique_ptr<IoEngine> MakeSyncEngine();     // depth 1
// nullptr on systems that do not have it.
std::unique_ptr<IoEngine> MakeUringEngine();

// All that this build has, the preferred first.
std::vector<std::unique_ptr<IoEngine>> MakeEngines();

// nullptr for an unknown name.
std::unique_ptr<IoEngine> MakeEngine(std::string_view name);

// A file operation's errno as a status: what was tried, and the kernel's words with the symbol, "No space left on
// device (ENOSPC)". ENOSPC and EDQUOT: ResourceExhausted, EIO: DataLoss, EROFS: FailedPrecondition, else as Abseil maps
// it.
absl::Status IoErrorStatus(int error, std::string_view what);

}  // namespace fleetmark::agent
