#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/store/bulk_insert.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/run_state.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {

absl::StatusOr<RunId> PostgresRunStore::CreateRun(const NewRun& run) {
  if (run.tasks.empty()) return absl::InvalidArgumentError("create the run: it has no tasks");
  // Names this request: a commit of unknown outcome is looked up under it.
  const std::string key = run.request_key.empty() ? NewUuid() : run.request_key;
  return database_.Query<RunId>("create the run", [&](Transaction& transaction) -> absl::StatusOr<RunId> {
    const Rows made = transaction.Exec(
        "INSERT INTO fleetmark.run (request_key, name, suite, suite_version, created_by, serial, give_up_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7)) ON CONFLICT (request_key) DO NOTHING"
        " RETURNING id",
        Args(key, run.name, run.suite, run.suite_version, run.created_by, run.serial,
             std::max(1.0, absl::ToDoubleSeconds(std::min(run.give_up, absl::Hours(24 * 3650))))));
    if (made.empty()) {
      const Rows existing =
          transaction.Exec("SELECT id, created_by FROM fleetmark.run WHERE request_key = $1", Args(key));
      if (existing.empty() || existing[0].Text(1) != run.created_by) {
        return absl::AlreadyExistsError(absl::StrCat("create the run: somebody else made one with the key ", key));
      }
      return existing[0].Int64(0);
    }
    const RunId id = made[0].Int64(0);
    BulkInsert insert(
        transaction,
        "fleetmark.task (run_id, host_id, host_name, labels, position, workload, version, target, parameters,"
        " repetition_rule, quiet_wait_seconds, state, reason, finished_at)");
    std::set<HostId> hosts;
    for (const NewTask& task : run.tasks) {
      const bool skipped = !task.skipped_because.empty();
      insert.Add(Args(id, task.host, task.host_name, LabelsToJson(task.labels), task.position, task.workload,
                      task.version, task.target, ParametersToJson(task.parameters),
                      Bytes{SerializeStable(task.repetition_rule)}, task.quiet_wait_seconds,
                      Name(skipped ? v1::TASK_STATE_SKIPPED : v1::TASK_STATE_QUEUED), task.skipped_because,
                      skipped ? std::optional<absl::Time>(absl::Now()) : std::nullopt));
      if (!skipped) hosts.insert(task.host);
    }
    insert.Flush();
    WriteAudit(transaction, run.created_by, "create run", absl::StrCat(id, " ", run.suite, " ", run.name));
    for (const HostId& host : hosts) Notify(transaction, kTaskChannel, host);
    RefreshRun(transaction, id);
    return id;
  });
}

absl::Status PostgresRunStore::CancelRun(RunId run, const std::string& who) {
  return database_.Transact(absl::StrCat("cancel run ", run), [&](Transaction& transaction) -> absl::Status {
    LockRuns(transaction, {run});
    const Rows rows = transaction.Exec("SELECT state, cancel_requested_by FROM fleetmark.run WHERE id = $1", Args(run));
    if (rows.empty()) return absl::NotFoundError(absl::StrCat("no run ", run, "; 'fleetmark runs' lists them"));
    if (IsFinal(RunStateNamed(rows[0].View(0)))) {
      // A repeated request after an answer that got lost is no error.
      if (!rows[0].IsNull(1) && rows[0].View(0) == Name(v1::RUN_STATE_CANCELLED)) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("run ", run, " is over already (", rows[0].Text(0), "): there is nothing to cancel"));
    }
    transaction.Exec(
        "UPDATE fleetmark.run SET cancel_requested_at = coalesce(cancel_requested_at, now()),"
        " cancel_requested_by = coalesce(cancel_requested_by, $2) WHERE id = $1",
        Args(run, who));
    for (const Row row :
         transaction.Exec("SELECT id FROM fleetmark.task WHERE run_id = $1 AND state = 'queued' ORDER BY id FOR UPDATE",
                          Args(run))) {
      SetTaskState(transaction, row.Int64(0), v1::TASK_STATE_CANCELLED, absl::StrCat("cancelled by ", who));
    }
    for (const Row row : transaction.Exec("SELECT DISTINCT host_id FROM fleetmark.task WHERE run_id = $1"
                                          " AND state IN ('assigned', 'running')",
                                          Args(run))) {
      Notify(transaction, kTaskChannel, row.Text(0));
    }
    WriteAudit(transaction, who, "cancel run", absl::StrCat(run));
    RefreshRun(transaction, run);
    return absl::OkStatus();
  });
}

}  // namespace fleetmark::collector
