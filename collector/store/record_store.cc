#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/store/postgres_result_store.h"
#include "collector/store/record_apply.h"
#include "collector/store/record_rows.h"
#include "collector/store/run_state.h"

namespace fleetmark::collector {
namespace {

struct TaskRow {
  HostId host;
  RunId run = 0;
};

// One call of StoreRecords inside its transaction.
class Intake {
 public:
  Intake(Transaction& transaction, const HostId& host, const std::vector<PreparedRecord>& records, absl::Time received)
      : transaction_(transaction), host_(host), records_(records), received_(received) {}

  StoredRecords Run() {
    LockAndLook();
    std::vector<const PreparedRecord*> fresh = SortOut();
    for (const Refused& refused : InsertRecords(transaction_, fresh, received_)) {
      SetAside(*refused.record, refused.reason);
    }
    for (const PreparedRecord* record : fresh) {
      if (record->invalid.empty() && !record->note.empty()) SetAside(*record, record->note);
    }
    Advance();
    return std::move(result_);
  }

 private:
  // Runs first, then attempts: the order everybody keeps to.
  void LockAndLook() {
    std::set<TaskId> tasks, applied;
    std::set<AttemptKey> keys;
    for (const PreparedRecord& record : records_) {
      tasks.insert(record.key.task);
      keys.insert(record.key);
      if (IsApplied(record.clean)) applied.insert(record.key.task);
    }
    if (!applied.empty()) LockRunsOf(transaction_, std::vector<TaskId>(applied.begin(), applied.end()));
    for (const Row row :
         transaction_.Exec("SELECT id, host_id, run_id FROM fleetmark.task WHERE id = ANY($1::bigint[])",
                           Args(std::vector<int64_t>(tasks.begin(), tasks.end())))) {
      tasks_[row.Int64(0)] = {row.Text(1), row.Int64(2)};
    }
    std::vector<int64_t> task_column, attempt_column;
    for (const AttemptKey& key : keys) {
      task_column.push_back(key.task);
      attempt_column.push_back(key.attempt);
    }
    for (const Row row : transaction_.Exec(
             "SELECT a.task_id, a.number FROM fleetmark.attempt a WHERE (a.task_id, a.number) IN"
             " (SELECT * FROM unnest($1::bigint[], $2::bigint[])) ORDER BY a.task_id, a.number FOR UPDATE",
             Args(task_column, attempt_column))) {
      attempts_.insert({row.Int64(0), row.Uint32(1)});
    }
  }

  // Empty if the record may be stored; else why it is not this host's to send.
  std::string WhyNotOurs(const PreparedRecord& record) const {
    const auto task = tasks_.find(record.key.task);
    if (task == tasks_.end()) return absl::StrCat("there is no task ", record.key.task);
    if (task->second.host != host_) return absl::StrCat("task ", record.key.task, " belongs to another host");
    if (!attempts_.contains(record.key)) {
      return absl::StrCat("task ", record.key.task, " has no attempt ", record.key.attempt);
    }
    return record.id.sequence() == 0 || record.id.sequence() > uint64_t{INT64_MAX} ? record.invalid : "";
  }

  std::vector<const PreparedRecord*> SortOut() {
    std::vector<int64_t> task_column, attempt_column, sequence_column;
    std::vector<const PreparedRecord*> ours;
    for (const PreparedRecord& record : records_) {
      if (const std::string reason = WhyNotOurs(record); !reason.empty()) {
        SetAside(record, reason);
        uint64_t& highest = not_ours_[record.key];
        highest = std::max(highest, record.id.sequence());
        continue;
      }
      ours.push_back(&record);
      task_column.push_back(record.key.task);
      attempt_column.push_back(record.key.attempt);
      sequence_column.push_back(static_cast<int64_t>(record.id.sequence()));
    }
    // With the attempts locked nobody else adds to them until we commit: looking is enough.
    std::map<std::pair<AttemptKey, uint64_t>, std::string> hashes;
    if (!ours.empty()) {
      for (const Row row :
           transaction_.Exec("SELECT r.task_id, r.attempt, r.sequence, r.sha256 FROM fleetmark.record r JOIN"
                             " unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x(task_id, attempt, sequence)"
                             " USING (task_id, attempt, sequence)",
                             Args(task_column, attempt_column, sequence_column))) {
        hashes[{{row.Int64(0), row.Uint32(1)}, static_cast<uint64_t>(row.Int64(2))}] = row.BytesAt(3);
      }
    }
    std::vector<const PreparedRecord*> fresh;
    for (const PreparedRecord* record : ours) {
      touched_.insert(record->key);
      const auto [known, is_new] = hashes.try_emplace({record->key, record->id.sequence()}, record->sha256);
      if (is_new) {
        fresh.push_back(record);
      } else if (known->second == record->sha256) {
        ++result_.duplicates;
      } else {
        SetAside(*record, "conflict: another content is stored under this task, attempt and sequence; that one stays");
      }
      if (IsApplied(record->clean)) runs_.insert(tasks_[record->key.task].run);
    }
    return fresh;
  }

  void SetAside(const PreparedRecord& record, const std::string& reason) {
    Quarantine(transaction_, host_, record, reason);
    result_.quarantined.push_back({record.id, reason});
  }

  void Advance() {
    std::set<RunId> changed;
    for (const AttemptKey& key : touched_) {
      bool state_changed = false;
      const int64_t sequence = AdvanceAttempt(transaction_, host_, key, &state_changed);
      if (sequence > 0) AddAck(key, static_cast<uint64_t>(sequence));
      if (state_changed) changed.insert(tasks_[key.task].run);
    }
    for (const RunId run : changed) {
      LockRuns(transaction_, {run});  // held already, but for a finished record that waited for an earlier one
      RefreshRun(transaction_, run);
    }
    for (const auto& [key, sequence] : not_ours_) AddAck(key, sequence);
    // Also after a second try, which finds its own work done.
    changed.insert(runs_.begin(), runs_.end());
    result_.changed_runs.assign(changed.begin(), changed.end());
  }

  void AddAck(const AttemptKey& key, uint64_t sequence) {
    v1::Ack& ack = result_.acks.emplace_back();
    ack.set_task_id(key.task);
    ack.set_attempt(key.attempt);
    ack.set_sequence(sequence);
  }

  Transaction& transaction_;
  const HostId& host_;
  const std::vector<PreparedRecord>& records_;
  const absl::Time received_;
  std::map<TaskId, TaskRow> tasks_;
  std::set<AttemptKey> attempts_;  // that exist, locked
  std::set<AttemptKey> touched_;   // ours
  std::map<AttemptKey, uint64_t> not_ours_;
  std::set<RunId> runs_;
  StoredRecords result_;
};

}  // namespace

absl::StatusOr<StoredRecords> PostgresResultStore::StoreRecords(const HostId& host,
                                                                const std::vector<v1::Record>& records) {
  if (records.empty()) return StoredRecords();
  const absl::Time received = absl::Now();
  std::vector<PreparedRecord> prepared;
  prepared.reserve(records.size());
  for (const v1::Record& record : records) prepared.push_back(PrepareRecord(record, received));
  return database_.Query<StoredRecords>("store results",
                                        [&](Transaction& transaction) -> absl::StatusOr<StoredRecords> {
                                          return Intake(transaction, host, prepared, received).Run();
                                        });
}

}  // namespace fleetmark::collector
