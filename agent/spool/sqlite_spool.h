// SqliteSpool: the Spool in one SQLite file, <state>/spool.db.
//
// Durable: write-ahead log with synchronous=FULL, one fsync for each call that returns; deletions are not synced, since
// an acknowledgement that is lost only means that a record is sent again. The task list is mirrored in memory, so that
// Tasks() and Status() never touch the disk.
//
// Never fails to construct: a state directory that cannot be written or a file of a newer fleetmark gives a spool that
// says so in Status and in every call, and tries again in Recover. A damaged file is moved aside
// (spool.db.damaged-<unix time>), what is readable in it is taken over, and what is missing is marked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/spool/database.h"
#include "agent/spool/spool.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {

class SqliteSpool : public Spool {
 public:
  struct Options {
    std::string path;                                 // of the file; its directory must exist
    uint64_t capacity_bytes = uint64_t{200} << 20;    // for all records and reservations
    uint64_t task_reserve_bytes = uint64_t{1} << 20;  // kept free for each task that is queued or running
    bool interrupt_running = true;  // false: only to look into the spool of an agent that is not there
  };

  explicit SqliteSpool(Options options);
  ~SqliteSpool() override;

  absl::Status AddTask(const v1::StartTask& start) override;
  absl::Status SetState(int64_t task_id, uint32_t attempt, v1::UnfinishedState state) override;
  absl::StatusOr<std::vector<SpooledTask>> Tasks() const override;
  absl::StatusOr<uint64_t> Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records) override;
  absl::StatusOr<Batch> Read(uint64_t after_position, size_t max_bytes) const override;
  uint64_t LastPosition() const override;
  absl::Status Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence) override;
  v1::AgentStatus Status() const override;
  void Recover() override;

  // What was found and done when the file was opened, a line each, for the log: recovered tasks, damage.
  std::vector<std::string> TakeMessages();

 private:
  using Key = std::pair<int64_t, uint32_t>;  // task, attempt
  struct Row {
    SpooledTask task;
    int64_t arrival = 0;
    uint64_t records = 0;  // unacknowledged
    uint64_t bytes = 0;    // of them
  };

  absl::Status OpenFile() REQUIRES(mutex_);
  absl::Status PrepareSchema(const std::string& path) REQUIRES(mutex_);
  absl::Status MoveAside(const absl::Status& damage) REQUIRES(mutex_);
  absl::Status FinishMove() REQUIRES(mutex_);  // of a process that was killed in MoveAside
  absl::Status LoadMirror() REQUIRES(mutex_);
  absl::Status FillGaps(const Key& key, Row& row) REQUIRES(mutex_);
  absl::Status InterruptRunning() REQUIRES(mutex_);
  // Remembers an error of the disk for Status, and passes it on.
  absl::Status Note(absl::Status status) const REQUIRES(mutex_);
  uint64_t UsedBytes() const REQUIRES(mutex_);
  uint64_t ReservedBytes(const Key* except) const REQUIRES(mutex_);
  absl::Status Full(uint64_t asked) const REQUIRES(mutex_);
  absl::Status DeleteAcknowledged(Row& row, uint64_t sequence, bool with_task) REQUIRES(mutex_);

  const Options options_;

  mutable Mutex mutex_;
  std::unique_ptr<Database> database_ GUARDED_BY(mutex_);  // null: could not be opened, see trouble_
  mutable absl::Status trouble_ GUARDED_BY(mutex_);        // of the last write; OK again after a good one
  std::map<Key, Row> rows_ GUARDED_BY(mutex_);
  uint64_t last_position_ GUARDED_BY(mutex_) = 0;
  int64_t last_arrival_ GUARDED_BY(mutex_) = 0;
  bool started_ GUARDED_BY(mutex_) = false;  // tasks found running were marked interrupted
  std::vector<std::string> messages_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::agent
