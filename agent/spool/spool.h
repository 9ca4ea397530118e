// Spool: the agent's durable outbox and task list. Whatever is in it survives kill -9 and power loss; records leave it
// only when the collector has acknowledged them, which it does after its own commit.
//
// Owned by the agent. Thread-safe; calls block for as long as a durable write takes. All errors name the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

struct SpooledTask {
  v1::StartTask start;
  v1::UnfinishedState state = v1::UNFINISHED_STATE_UNSPECIFIED;
  uint64_t highest_sequence = 0;   // of its records, acknowledged ones included; 0: none yet
};

class Spool {
 public:
  virtual ~Spool() = default;

  // Durable when it returns; a task already known (same task and attempt) is left as it is and that is no error.
  // ResourceExhausted when there is no room for the records a task needs (reserved here, released at its end).
  virtual absl::Status AddTask(const v1::StartTask& start) = 0;
  virtual absl::Status SetState(int64_t task_id, uint32_t attempt, v1::UnfinishedState state) = 0;
  virtual absl::StatusOr<std::vector<SpooledTask>> Tasks() const = 0;   // in the order of arrival

  // Appends records of one task: sets id.sequence of each, continuing without a gap. Durable when it returns.
  virtual absl::Status Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records) = 0;

  // Unacknowledged records in order of arrival, after a position (0: from the first), at most `max_bytes` serialized
  // but at least one. `position` of the last is where to go on.
  struct Batch {
    std::vector<v1::Record> records;
    uint64_t position = 0;
  };
  virtual absl::StatusOr<Batch> Read(uint64_t after_position, size_t max_bytes) const = 0;

  // Deletes what is acknowledged. A finished task whose last record is acknowledged goes with it.
  virtual absl::Status Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence) = 0;

  virtual absl::StatusOr<v1::AgentStatus> Status() const = 0;   // bytes, capacity, and why no tasks are taken
};

}  // namespace fleetmark::agent
