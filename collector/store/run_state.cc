#include "collector/store/run_state.h"

#include "absl/strings/str_cat.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {

void LockRuns(Transaction& transaction, const std::vector<RunId>& runs) {
  transaction.Exec("SELECT id FROM fleetmark.run WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE", Args(runs));
}

std::vector<RunId> LockRunsOf(Transaction& transaction, const std::vector<TaskId>& tasks) {
  std::vector<RunId> runs;
  for (const Row row : transaction.Exec(
           "SELECT id FROM fleetmark.run WHERE id IN (SELECT run_id FROM fleetmark.task WHERE id = ANY($1::bigint[]))"
           " ORDER BY id FOR UPDATE",
           Args(tasks))) {
    runs.push_back(row.Int64(0));
  }
  return runs;
}

bool SetTaskState(Transaction& transaction, TaskId task, v1::TaskState to, const std::string& reason, bool late) {
  const bool is_final = IsFinal(to);
  const Rows changed = transaction.Exec(
      "UPDATE fleetmark.task SET state = $2, reason = $3, late = late OR $4::boolean,"
      " finished_at = CASE WHEN $5::boolean THEN now() END WHERE id = $1 AND state = ANY($6::text[]) RETURNING id",
      Args(task, Name(to), reason, late, is_final, MayPrecede(to)));
  if (changed.empty()) return false;
  if (is_final) transaction.Exec("DELETE FROM fleetmark.task_progress WHERE task_id = $1", Args(task));
  return true;
}

bool SetAttemptState(Transaction& transaction, const AttemptKey& key, AttemptState to) {
  const Rows rows = transaction.Exec(
      "SELECT state FROM fleetmark.attempt WHERE task_id = $1 AND number = $2 FOR UPDATE", Args(key.task, key.attempt));
  if (rows.empty()) return false;
  const std::optional<AttemptState> from = AttemptStateNamed(rows[0].View(0));
  if (!from.has_value() || !MayBecome(*from, to)) return false;
  transaction.Exec(
      "UPDATE fleetmark.attempt SET state = $3, finished_at = coalesce(finished_at, now())"
      " WHERE task_id = $1 AND number = $2",
      Args(key.task, key.attempt, Name(to)));
  return true;
}

void RequeueTask(Transaction& transaction, const HostId& host, TaskId task, const std::string& reason, bool counted) {
  const Rows rows = transaction.Exec(
      "UPDATE fleetmark.task t SET disowned = t.disowned + $2::int FROM fleetmark.run r WHERE t.id = $1 AND r.id = "
      "t.run_id"
      " RETURNING t.disowned, r.cancel_requested_at IS NOT NULL, r.cancel_requested_by",
      Args(task, counted ? 1 : 0));
  if (rows.empty()) return;
  if (rows[0].Bool(1)) {
    SetTaskState(transaction, task, v1::TASK_STATE_CANCELLED, absl::StrCat("cancelled by ", rows[0].TextOrEmpty(2)));
  } else if (rows[0].Int(0) > kMostDisowned) {
    SetTaskState(transaction, task, v1::TASK_STATE_FAILED,
                 absl::StrCat(reason, "; ", rows[0].Int(0), " attempts ended without a result"));
  } else {
    SetTaskState(transaction, task, v1::TASK_STATE_QUEUED, reason);
    transaction.Exec("DELETE FROM fleetmark.task_progress WHERE task_id = $1", Args(task));
    Notify(transaction, kTaskChannel, host);
  }
}

void RefreshRun(Transaction& transaction, RunId run) {
  const Rows rows = transaction.Exec(
      "SELECT r.state, r.cancel_requested_at IS NOT NULL,"
      " count(*) FILTER (WHERE t.state IN ('queued', 'assigned', 'running')), count(*) FILTER (WHERE t.attempt > 0),"
      " count(*) FILTER (WHERE t.state = 'succeeded'),"
      " count(*) FILTER (WHERE t.state = 'cancelled' OR (t.state = 'lost' AND r.cancel_requested_at IS NOT NULL)),"
      " count(*) FILTER (WHERE t.state IN ('failed', 'skipped')"
      "                  OR (t.state = 'lost' AND r.cancel_requested_at IS NULL))"
      " FROM fleetmark.run r JOIN fleetmark.task t ON t.run_id = r.id WHERE r.id = $1 GROUP BY r.id",
      Args(run));
  if (rows.empty()) return;
  const v1::RunState from = RunStateNamed(rows[0].View(0));
  TaskCounts counts;
  counts.open = rows[0].Int64(2);
  counts.begun = rows[0].Int64(3);
  counts.succeeded = rows[0].Int64(4);
  counts.cancelled = rows[0].Int64(5);
  counts.other = rows[0].Int64(6);
  const v1::RunState to = RunStateFor(counts, rows[0].Bool(1));
  if (MayBecome(from, to)) {
    transaction.Exec(
        "UPDATE fleetmark.run SET state = $2, started_at = CASE WHEN $3::boolean THEN coalesce(started_at, now())"
        " ELSE started_at END, finished_at = CASE WHEN $4::boolean THEN now() END WHERE id = $1",
        Args(run, Name(to), counts.begun > 0, IsFinal(to)));
  }
  Notify(transaction, kRunChannel, absl::StrCat(run));
}

}  // namespace fleetmark::collector
