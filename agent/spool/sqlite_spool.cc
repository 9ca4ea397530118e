#include "agent/spool/sqlite_spool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/spool/salvage.h"

namespace fleetmark::agent {
namespace {

// What a record or task costs in the file besides its own bytes: key, index entry, page overhead.
constexpr uint64_t kRecordOverhead = 96;
constexpr uint64_t kTaskOverhead = 1024;

std::string Mebibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

bool HoldsReservation(v1::UnfinishedState state) {
  return state == v1::UNFINISHED_STATE_QUEUED || state == v1::UNFINISHED_STATE_RUNNING;
}

bool HasEnded(v1::UnfinishedState state) {
  return state == v1::UNFINISHED_STATE_FINISHED || state == v1::UNFINISHED_STATE_INTERRUPTED;
}

// Stands for a record that is lost, so that the sequence goes on without a gap.
v1::Record StandIn(bool last_of_finished, const std::string& path) {
  v1::Record record;
  if (last_of_finished) {
    v1::TaskFinished* finished = record.mutable_finished();
    finished->set_outcome(v1::TASK_OUTCOME_FAILED);
    finished->set_reason(absl::StrCat("the end of this task was lost with damaged data in spool ", path,
                                      "; check the disk and run it again"));
  }
  return record;
}

}  // namespace

SqliteSpool::SqliteSpool(Options options) : options_(std::move(options)) {
  MutexLock lock(mutex_);
  trouble_ = OpenFile();
}

SqliteSpool::~SqliteSpool() = default;

absl::Status SqliteSpool::AddTask(const v1::StartTask& start) {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  const Key key{start.task_id(), start.attempt()};
  if (rows_.contains(key)) return absl::OkStatus();
  const uint64_t needed = options_.task_reserve_bytes + kTaskOverhead;
  if (UsedBytes() + ReservedBytes(nullptr) + needed > options_.capacity_bytes) return Full(needed);

  absl::StatusOr<Statement> insert = database_->Prepare(
      "INSERT INTO task(arrival, task_id, attempt, state, highest, acknowledged, start) VALUES(?, ?, ?, ?, 0, 0, ?)");
  if (!insert.ok()) return Note(insert.status());
  const std::string body = start.SerializeAsString();
  const absl::Status status = Note(insert->Bind(last_arrival_ + 1)
                                       .Bind(key.first)
                                       .Bind(int64_t{key.second})
                                       .Bind(int64_t{v1::UNFINISHED_STATE_QUEUED})
                                       .Bind(body)
                                       .Run());
  if (!status.ok()) return status;
  Row& row = rows_[key];
  row.task.start = start;
  row.task.state = v1::UNFINISHED_STATE_QUEUED;
  row.arrival = ++last_arrival_;
  return absl::OkStatus();
}

absl::Status SqliteSpool::SetState(int64_t task_id, uint32_t attempt, v1::UnfinishedState state) {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  const auto found = rows_.find({task_id, attempt});
  if (found == rows_.end()) {
    return absl::NotFoundError(
        absl::StrCat("task ", task_id, " attempt ", attempt, " is not in spool ", options_.path));
  }
  if (found->second.task.state == state) return absl::OkStatus();
  absl::StatusOr<Statement> update = database_->Prepare("UPDATE task SET state=? WHERE task_id=? AND attempt=?");
  if (!update.ok()) return Note(update.status());
  const absl::Status status = Note(update->Bind(int64_t{state}).Bind(task_id).Bind(int64_t{attempt}).Run());
  if (status.ok()) found->second.task.state = state;
  return status;
}

absl::StatusOr<std::vector<SpooledTask>> SqliteSpool::Tasks() const {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  std::vector<const Row*> rows;
  for (const auto& [key, row] : rows_) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->arrival < b->arrival; });
  std::vector<SpooledTask> tasks;
  for (const Row* row : rows) tasks.push_back(row->task);
  return tasks;
}

absl::StatusOr<uint64_t> SqliteSpool::Append(int64_t task_id, uint32_t attempt, std::vector<v1::Record>& records) {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  const Key key{task_id, attempt};
  const auto found = rows_.find(key);
  if (found == rows_.end()) {
    return absl::NotFoundError(
        absl::StrCat("task ", task_id, " attempt ", attempt, " is not in spool ", options_.path));
  }
  Row& row = found->second;

  uint64_t sequence = row.task.highest_sequence;
  uint64_t added_bytes = 0;
  bool finishes = false;
  std::vector<std::string> bodies;
  for (v1::Record& record : records) {
    record.mutable_id()->set_task_id(task_id);
    record.mutable_id()->set_attempt(attempt);
    record.mutable_id()->set_sequence(++sequence);
    finishes = finishes || record.has_finished();
    bodies.push_back(record.SerializeAsString());
    added_bytes += bodies.back().size() + kRecordOverhead;
  }
  // Inside its own reservation a task always has room, and its end is always taken: it is small and closes the task.
  const uint64_t own = row.bytes + row.records * kRecordOverhead;
  const bool within_reservation = HoldsReservation(row.task.state) && own + added_bytes <= options_.task_reserve_bytes;
  if (!finishes && !within_reservation && UsedBytes() + ReservedBytes(&key) + added_bytes > options_.capacity_bytes) {
    return Full(added_bytes);
  }

  absl::StatusOr<Transaction> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return Note(transaction.status());
  uint64_t position = last_position_;
  for (size_t i = 0; i < records.size(); ++i) {
    absl::StatusOr<Statement> insert = database_->Prepare(
        "INSERT INTO record(position, task_id, attempt, sequence, checksum, body) VALUES(?, ?, ?, ?, ?, ?)");
    if (!insert.ok()) return Note(insert.status());
    const absl::Status status = insert->Bind(static_cast<int64_t>(++position))
                                    .Bind(task_id)
                                    .Bind(int64_t{attempt})
                                    .Bind(static_cast<int64_t>(records[i].id().sequence()))
                                    .Bind(Checksum(bodies[i]))
                                    .Bind(bodies[i])
                                    .Run();
    if (!status.ok()) return Note(status);
  }
  const v1::UnfinishedState state = finishes ? v1::UNFINISHED_STATE_FINISHED : row.task.state;
  absl::StatusOr<Statement> update =
      database_->Prepare("UPDATE task SET highest=?, state=? WHERE task_id=? AND attempt=?");
  if (!update.ok()) return Note(update.status());
  absl::Status status =
      update->Bind(static_cast<int64_t>(sequence)).Bind(int64_t{state}).Bind(task_id).Bind(int64_t{attempt}).Run();
  if (status.ok()) status = transaction->Commit();
  if (!Note(status).ok()) return status;

  row.task.highest_sequence = sequence;
  row.task.state = state;
  row.records += records.size();
  for (const std::string& body : bodies) row.bytes += body.size();
  const uint64_t first = last_position_ + 1;
  last_position_ = position;
  return first;
}

absl::StatusOr<Spool::Batch> SqliteSpool::Read(uint64_t after_position, size_t max_bytes) const {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  absl::StatusOr<Statement> select = database_->Prepare(
      "SELECT position, task_id, attempt, sequence, checksum, body FROM record WHERE position>? ORDER BY position");
  if (!select.ok()) return select.status();
  select->Bind(static_cast<int64_t>(after_position));
  Batch batch;
  size_t bytes = 0;
  while (true) {
    const absl::StatusOr<bool> more = select->Step();
    if (!more.ok()) {
      if (absl::IsDataLoss(more.status())) (void)Note(more.status());
      if (batch.records.empty()) return more.status();
      return batch;
    }
    if (!*more) return batch;
    const std::string_view body = select->Bytes(5);
    if (!batch.records.empty() && bytes + body.size() > max_bytes) return batch;
    bytes += body.size();

    const Key key{select->Integer(1), static_cast<uint32_t>(select->Integer(2))};
    const auto sequence = static_cast<uint64_t>(select->Integer(3));
    v1::Record record;
    if (select->Integer(4) != Checksum(body) || !record.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
      const auto row = rows_.find(key);
      const bool last = row != rows_.end() && row->second.task.state == v1::UNFINISHED_STATE_FINISHED &&
                        row->second.task.highest_sequence == sequence;
      record = StandIn(last, options_.path);
    }
    record.mutable_id()->set_task_id(key.first);
    record.mutable_id()->set_attempt(key.second);
    record.mutable_id()->set_sequence(sequence);
    batch.records.push_back(std::move(record));
    batch.positions.push_back(static_cast<uint64_t>(select->Integer(0)));
  }
}

uint64_t SqliteSpool::LastPosition() const {
  MutexLock lock(mutex_);
  return last_position_;
}

absl::Status SqliteSpool::Acknowledge(int64_t task_id, uint32_t attempt, uint64_t sequence) {
  MutexLock lock(mutex_);
  if (database_ == nullptr) return trouble_;
  const auto found = rows_.find({task_id, attempt});
  if (found == rows_.end()) return absl::OkStatus();
  Row& row = found->second;
  if (sequence > row.task.highest_sequence) {
    return absl::OutOfRangeError(absl::StrCat("acknowledgement of task ", task_id, " attempt ", attempt, " up to ",
                                              sequence, ", but only ", row.task.highest_sequence,
                                              " records exist; nothing is deleted"));
  }
  const bool done = HasEnded(row.task.state) && sequence == row.task.highest_sequence;
  if (!done && sequence <= row.task.acknowledged_sequence) return absl::OkStatus();

  // Not worth an fsync: see the class comment.
  absl::Status status = database_->Execute("PRAGMA synchronous=NORMAL");
  if (!status.ok()) return Note(status);
  status = DeleteAcknowledged(row, sequence, done);
  const absl::Status restored = database_->Execute("PRAGMA synchronous=FULL");
  if (status.ok()) status = restored;
  if (!Note(status).ok()) return status;
  if (done) rows_.erase(found);
  if (rows_.empty()) (void)database_->Execute("PRAGMA incremental_vacuum(4096)");
  return absl::OkStatus();
}

absl::Status SqliteSpool::DeleteAcknowledged(Row& row, uint64_t sequence, bool with_task) {
  const int64_t task_id = row.task.start.task_id();
  const int64_t attempt = row.task.start.attempt();
  absl::StatusOr<Transaction> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  uint64_t records = 0;
  uint64_t bytes = 0;
  {
    absl::StatusOr<Statement> removed =
        database_->Prepare("DELETE FROM record WHERE task_id=? AND attempt=? AND sequence<=? RETURNING length(body)");
    if (!removed.ok()) return removed.status();
    removed->Bind(task_id).Bind(attempt).Bind(static_cast<int64_t>(sequence));
    while (true) {
      const absl::StatusOr<bool> more = removed->Step();
      if (!more.ok()) return more.status();
      if (!*more) break;
      ++records;
      bytes += static_cast<uint64_t>(removed->Integer(0));
    }
  }
  absl::StatusOr<Statement> change =
      with_task ? database_->Prepare("DELETE FROM task WHERE task_id=? AND attempt=?")
                : database_->Prepare("UPDATE task SET acknowledged=?3 WHERE task_id=?1 AND attempt=?2");
  if (!change.ok()) return change.status();
  change->Bind(task_id).Bind(attempt);
  if (!with_task) change->Bind(static_cast<int64_t>(sequence));
  absl::Status status = change->Run();
  if (status.ok()) status = transaction->Commit();
  if (!status.ok()) return status;
  row.records -= std::min(row.records, records);
  row.bytes -= std::min(row.bytes, bytes);
  row.task.acknowledged_sequence = std::max(row.task.acknowledged_sequence, sequence);
  return absl::OkStatus();
}

v1::AgentStatus SqliteSpool::Status() const {
  MutexLock lock(mutex_);
  v1::AgentStatus status;
  const uint64_t used = UsedBytes();
  status.set_spool_bytes(static_cast<double>(used));
  status.set_spool_capacity_bytes(static_cast<double>(options_.capacity_bytes));
  uint64_t records = 0;
  for (const auto& [key, row] : rows_) records += row.records;
  status.set_spooled_records(records);
  if (!trouble_.ok()) {
    status.set_refuses_tasks_because(std::string(trouble_.message()));
  } else if (const uint64_t needed = options_.task_reserve_bytes + kTaskOverhead;
             used + ReservedBytes(nullptr) + needed > options_.capacity_bytes) {
    status.set_refuses_tasks_because(std::string(Full(needed).message()));
  }
  return status;
}

void SqliteSpool::Recover() {
  MutexLock lock(mutex_);
  if (database_ != nullptr && trouble_.ok()) return;
  if (database_ == nullptr || absl::IsDataLoss(trouble_) || absl::IsUnavailable(trouble_)) {
    // A handle that has seen an I/O error may hold a stale picture of the file.
    trouble_ = OpenFile();
    if (!trouble_.ok()) return;
  }
  trouble_ = database_->Execute("UPDATE probe SET number=number+1");
}

std::vector<std::string> SqliteSpool::TakeMessages() {
  MutexLock lock(mutex_);
  return std::exchange(messages_, {});
}

absl::Status SqliteSpool::Note(absl::Status status) const {
  trouble_ = status;
  return status;
}

uint64_t SqliteSpool::UsedBytes() const {
  uint64_t used = 0;
  for (const auto& [key, row] : rows_) used += row.bytes + row.records * kRecordOverhead + kTaskOverhead;
  return used;
}

uint64_t SqliteSpool::ReservedBytes(const Key* except) const {
  uint64_t reserved = 0;
  for (const auto& [key, row] : rows_) {
    if (!HoldsReservation(row.task.state) || (except != nullptr && key == *except)) continue;
    const uint64_t own = row.bytes + row.records * kRecordOverhead;
    if (own < options_.task_reserve_bytes) reserved += options_.task_reserve_bytes - own;
  }
  return reserved;
}

absl::Status SqliteSpool::Full(uint64_t asked) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "spool ", options_.path, " is full: ", Mebibytes(UsedBytes()), " used and ", Mebibytes(ReservedBytes(nullptr)),
      " reserved of ", Mebibytes(options_.capacity_bytes), ", ", Mebibytes(asked),
      " more asked; let a collector take the results or raise spool_capacity in the agent's configuration"));
}

}  // namespace fleetmark::agent
