// Outbox: the spool as the rest of the agent uses it. It keeps off the disk while a timed section runs.
//
// Between BeginTask and EndTask the disk is silent but for gaps (OpenGap ... CloseGap, between two timed sections, on
// the thread that runs the task). Meanwhile records are read from a copy in memory, and acknowledgements wait for the
// next gap. Owned by the agent, thread-safe; does not own the spool. Memory is bounded by `memory_bytes` and the number
// of tasks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/spool/spool.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {

class Outbox {
 public:
  explicit Outbox(Spool& spool, size_t memory_bytes = size_t{1} << 20);

  // From the thread that runs a task; each may be called again without harm. BeginTask waits for what is under way on
  // the disk; called in a gap, it takes effect when the gap closes.
  void BeginTask();
  void OpenGap();
  void CloseGap();
  void EndTask();

  // REQUIRES: a gap, or no task. Durable when it returns; see Spool::Append.
  absl::Status Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records);

  // Calls `work` now and returns true, or returns false without calling it: a timed section runs. No timed section
  // begins before `work` returns, so it must be short; it must not call the outbox.
  bool IfDiskIsFree(const std::function<void(Spool&)>& work);

  // Records after a position, as Spool::Read. Empty also when they cannot be had without the disk just now: ask again
  // after the next gap.
  absl::StatusOr<Spool::Batch> Read(uint64_t after_position, size_t max_bytes);

  // As Spool::Acknowledge, but its errors other than OutOfRange are kept for Status and tried again by the peer.
  absl::Status Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence);

  absl::StatusOr<std::vector<SpooledTask>> Tasks() const { return spool_.Tasks(); }
  v1::AgentStatus Status() const { return spool_.Status(); }

 private:
  using Key = std::pair<int64_t, uint32_t>;
  struct Copy {
    uint64_t position = 0;
    Key task;
    uint64_t sequence = 0;
    std::string body;
  };

  bool DiskIsFree() const REQUIRES(mutex_) { return !task_runs_ || gap_; }
  void AcknowledgeDeferred() REQUIRES(mutex_);
  void RefillCopies() REQUIRES(mutex_);
  void Remember(uint64_t first_position, const std::vector<v1::Record>& records) REQUIRES(mutex_);
  bool CopiesCover(uint64_t after_position) const REQUIRES(mutex_);

  Spool& spool_;
  const size_t memory_bytes_;

  Mutex mutex_;  // held during disk work, so that BeginTask and CloseGap wait for it
  bool task_runs_ GUARDED_BY(mutex_) = false;
  bool gap_ GUARDED_BY(mutex_) = false;
  std::map<Key, uint64_t> deferred_ GUARDED_BY(mutex_);  // acknowledged, not yet deleted

  // Every unacknowledged record with a position in (covered_from_, covered_to_] is among the copies.
  std::deque<Copy> copies_ GUARDED_BY(mutex_);
  size_t copied_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t covered_from_ GUARDED_BY(mutex_) = 0;
  uint64_t covered_to_ GUARDED_BY(mutex_) = 0;
  bool wanted_ GUARDED_BY(mutex_) = false;  // somebody could not read without the disk, after wanted_after_
  uint64_t wanted_after_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetmark::agent
