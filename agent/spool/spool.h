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
  uint64_t highest_sequence = 0;  // of its records, acknowledged ones included; 0: none yet
  uint64_t acknowledged_sequence = 0;
};

class Spool {
 public:
  virtual ~Spool() = default;

  // Durable when it returns; a task already known (same task and attempt) is left as it is and that is no error.
  // ResourceExhausted when there is no room for the records a task needs (reserved here, released at its end).
  virtual absl::Status AddTask(const v1::StartTask& start) = 0;
  virtual absl::Status SetState(int64_t task_id, uint32_t attempt, v1::UnfinishedState state) = 0;
  // In the order of arrival. Does not touch the disk.
  virtual absl::StatusOr<std::vector<SpooledTask>> Tasks() const = 0;

  // Appends records of one task: sets id of each, the sequence continuing without a gap. Durable when it returns. A
  // TaskFinished among them also makes the task's state FINISHED, in the same transaction. Returns the position of the
  // first; the others follow it by one each.
  virtual absl::StatusOr<uint64_t> Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records) = 0;

  // Unacknowledged records in order of arrival, after a position (0: from the first), at most `max_bytes` serialized
  // but at least one. A record that cannot be read any more is replaced by one that has only an id, or, if it was the
  // last of a finished task, by a TaskFinished that says so: the sequence never has a gap.
  struct Batch {
    std::vector<v1::Record> records;
    std::vector<uint64_t> positions;  // of each; increasing
  };
  virtual absl::StatusOr<Batch> Read(uint64_t after_position, size_t max_bytes) const = 0;

  // The position of the newest record ever appended in this process's life; 0: none, and none was found at the start.
  virtual uint64_t LastPosition() const = 0;

  // Deletes what is acknowledged. A finished or interrupted task goes when its last record is acknowledged (sequence 0
  // for one without records). An unknown task is no error. OutOfRange, and nothing is deleted, for a sequence that was
  // never appended.
  virtual absl::Status Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence) = 0;

  // Bytes, capacity, and why no tasks are taken. Does not touch the disk.
  virtual v1::AgentStatus Status() const = 0;

  // After an error of the disk (full, read-only, gone): tries again, so that Status tells the truth. Touches the disk
  // only then.
  virtual void Recover() = 0;
};

}  // namespace fleetmark::agent
