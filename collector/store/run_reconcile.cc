// After an agent's Hello, and at a run's give-up time: rows and reality brought together.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/run_state.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {
namespace {

struct TaskRow {
  RunId run = 0;
  uint32_t attempt = 0;
  v1::TaskState state = v1::TASK_STATE_UNSPECIFIED;
  bool cancel_requested = false;
};

// The host's active tasks, and those the agent names (if they are this host's); their runs are locked.
std::map<TaskId, TaskRow> LockTasks(Transaction& transaction, const HostId& host,
                                    const std::vector<v1::UnfinishedTask>& unfinished) {
  std::vector<int64_t> named;
  for (const v1::UnfinishedTask& task : unfinished) named.push_back(task.task_id());
  constexpr char kWhere[] =
      " WHERE t.host_id = $1 AND (t.state IN ('assigned', 'running') OR t.id = ANY($2::bigint[]))";
  std::vector<int64_t> runs;
  for (const Row row :
       transaction.Exec(absl::StrCat("SELECT DISTINCT t.run_id FROM fleetmark.task t", kWhere), Args(host, named))) {
    runs.push_back(row.Int64(0));
  }
  LockRuns(transaction, runs);
  std::map<TaskId, TaskRow> tasks;
  for (const Row row :
       transaction.Exec(absl::StrCat("SELECT t.id, t.run_id, t.attempt, t.state, r.cancel_requested_at IS NOT NULL"
                                     " FROM fleetmark.task t JOIN fleetmark.run r ON r.id = t.run_id",
                                     kWhere, " ORDER BY t.id FOR UPDATE OF t"),
                        Args(host, named))) {
    tasks[row.Int64(0)] = {row.Int64(1), row.Uint32(2), TaskStateNamed(row.View(3)), row.Bool(4)};
  }
  return tasks;
}

bool IsActive(v1::TaskState state) { return state == v1::TASK_STATE_ASSIGNED || state == v1::TASK_STATE_RUNNING; }

}  // namespace

absl::StatusOr<RunStore::Reconciliation> PostgresRunStore::Reconcile(
    const HostId& host, const std::vector<v1::UnfinishedTask>& unfinished) {
  return database_.Query<Reconciliation>(
      "reconcile the agent's tasks", [&](Transaction& transaction) -> absl::StatusOr<Reconciliation> {
        Reconciliation result;
        const std::map<TaskId, TaskRow> tasks = LockTasks(transaction, host, unfinished);
        std::set<RunId> changed;
        std::set<TaskId> known;  // active tasks whose present attempt the agent has
        for (const v1::UnfinishedTask& theirs : unfinished) {
          const AttemptKey key{theirs.task_id(), theirs.attempt()};
          const bool going_on =
              theirs.state() == v1::UNFINISHED_STATE_QUEUED || theirs.state() == v1::UNFINISHED_STATE_RUNNING;
          const auto found = tasks.find(key.task);
          const bool current = found != tasks.end() && found->second.attempt == key.attempt;
          if (!current || (!IsActive(found->second.state) && found->second.state != v1::TASK_STATE_LOST)) {
            if (going_on) result.cancel.push_back(key);
            continue;
          }
          const TaskRow& row = found->second;
          if (!IsActive(row.state)) continue;  // lost: a late result is still welcome
          known.insert(key.task);
          if (theirs.state() == v1::UNFINISHED_STATE_INTERRUPTED) {
            SetAttemptState(transaction, key, AttemptState::kInterrupted);
            RequeueTask(transaction, host, key.task, "the agent ended while it measured", /*counted=*/true);
            changed.insert(row.run);
          } else if (going_on && row.cancel_requested) {
            result.cancel.push_back(key);
          }
        }
        for (const auto& [task, row] : tasks) {
          if (!IsActive(row.state) || known.contains(task)) continue;
          const AttemptKey key{task, row.attempt};
          if (row.state == v1::TASK_STATE_ASSIGNED && !row.cancel_requested) {
            if (std::optional<v1::StartTask> start = ReadStartTask(transaction, task)) {
              result.start_again.push_back(*std::move(start));
            }
            continue;
          }
          SetAttemptState(transaction, key, AttemptState::kDisowned);
          RequeueTask(transaction, host, task, "the agent no longer knows of it", /*counted=*/true);
          changed.insert(row.run);
        }
        for (const RunId run : changed) RefreshRun(transaction, run);
        return result;
      });
}

absl::StatusOr<std::vector<RunId>> PostgresRunStore::GiveUpOverdue() {
  return database_.Query<std::vector<RunId>>(
      "give up overdue tasks", [&](Transaction& transaction) -> absl::StatusOr<std::vector<RunId>> {
        std::vector<RunId> changed;
        // Runs that another collector looks at just now are left to it.
        for (const Row run :
             transaction.Exec("SELECT id, cancel_requested_at <= now() - interval '5 min',"
                              " give_up_at <= now() - interval '1 h' OR cancel_requested_at <= now() - interval '5 min'"
                              " FROM fleetmark.run WHERE state IN ('created', 'running')"
                              " AND (give_up_at <= now() OR cancel_requested_at <= now() - interval '5 min')"
                              " ORDER BY id FOR UPDATE SKIP LOCKED")) {
          const bool cancelled = !run.IsNull(1) && run.Bool(1);
          const bool connected_too = !run.IsNull(2) && run.Bool(2);
          const Rows waiting = transaction.Exec(
              "SELECT t.id, t.state, c.host_id IS NOT NULL FROM fleetmark.task t LEFT JOIN fleetmark.claim c"
              " ON c.host_id = t.host_id AND c.expires_at > now() WHERE t.run_id = $1 AND (t.state = 'queued'"
              " OR (t.state IN ('assigned', 'running') AND ($2::boolean OR c.host_id IS NULL)))"
              " ORDER BY t.id FOR UPDATE OF t",
              Args(run.Int64(0), connected_too));
          for (const Row task : waiting) {
            const char* reason = "its host did not come back by the run's give-up time";
            if (cancelled) {
              reason = "its host did not answer the cancellation within 5 min";
            } else if (task.View(1) == Name(v1::TASK_STATE_QUEUED)) {
              reason = "not started by the run's give-up time";
            } else if (task.Bool(2)) {
              reason = "not finished within 1 h of the run's give-up time, though its host is connected";
            }
            SetTaskState(transaction, task.Int64(0), v1::TASK_STATE_LOST, reason);
          }
          if (waiting.empty()) continue;
          RefreshRun(transaction, run.Int64(0));
          changed.push_back(run.Int64(0));
        }
        return changed;
      });
}

}  // namespace fleetmark::collector
