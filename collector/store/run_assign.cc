// The next task for a host, and what its agent answers.
#include "absl/strings/str_cat.h"
#include "collector/store/bulk_insert.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/run_state.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {
namespace {

// Task t with attempt a was offered, and its agent has not answered: the offer went to a session that had just ended.
// Its agent takes it as said once if it has heard both.
constexpr char kIsUnanswered[] =
    " a.task_id = t.id AND a.number = t.attempt AND t.state = 'assigned' AND a.accepted_at IS NULL"
    " AND a.assigned_at <= now() - interval '10 s'";

// The first task that may start on this host, its run (which gets locked) included. A serial run measures on one host
// at a time: while another of its hosts has an active task, it has nothing for this one.
struct Candidate {
  TaskId task = 0;
  RunId run = 0;
};

std::optional<Candidate> FindCandidate(Transaction& transaction, const HostId& host) {
  constexpr char kFind[] =
      "SELECT t.id, t.run_id FROM fleetmark.task t JOIN fleetmark.run r ON r.id = t.run_id"
      " WHERE t.host_id = $1 AND t.state = 'queued' AND r.cancel_requested_at IS NULL"
      " AND NOT (r.serial AND EXISTS (SELECT 1 FROM fleetmark.task o WHERE o.run_id = t.run_id AND o.host_id <> "
      "t.host_id"
      "          AND o.state IN ('assigned', 'running')))"
      " ORDER BY t.run_id, t.position, t.id LIMIT 1";
  const Rows found = transaction.Exec(kFind, Args(host));
  if (found.empty()) return std::nullopt;
  const Candidate candidate{found[0].Int64(0), found[0].Int64(1)};
  LockRuns(transaction, {candidate.run});
  // Looked at again under the lock: another collector may have started a task of this run meanwhile, or cancelled it.
  const Rows again = transaction.Exec(kFind, Args(host));
  if (again.empty() || again[0].Int64(0) != candidate.task) return std::nullopt;
  const Rows locked = transaction.Exec(
      "SELECT id FROM fleetmark.task WHERE id = $1 AND state = 'queued' FOR UPDATE SKIP LOCKED", Args(candidate.task));
  if (locked.empty()) return std::nullopt;
  return candidate;
}

// Whether this attempt is the newest of a task of this host; its run is locked then.
bool LockCurrentAttempt(Transaction& transaction, const HostId& host, const AttemptKey& key, RunId& run) {
  const std::vector<RunId> runs = LockRunsOf(transaction, {key.task});
  if (runs.empty()) return false;
  run = runs.front();
  return !transaction
              .Exec("SELECT 1 FROM fleetmark.task WHERE id = $1 AND host_id = $2 AND attempt = $3 FOR UPDATE",
                    Args(key.task, host, key.attempt))
              .empty();
}

}  // namespace

std::optional<v1::StartTask> ReadStartTask(Transaction& transaction, TaskId task) {
  const Rows rows = transaction.Exec(
      "SELECT attempt, run_id, workload, version, parameters, repetition_rule, target, quiet_wait_seconds"
      " FROM fleetmark.task WHERE id = $1",
      Args(task));
  if (rows.empty()) return std::nullopt;
  v1::StartTask start;
  start.set_task_id(task);
  start.set_attempt(rows[0].Uint32(0));
  start.set_run_id(rows[0].Int64(1));
  start.set_workload(rows[0].Text(2));
  start.set_version(rows[0].Uint32(3));
  for (const auto& [name, value] : ParametersFromJson(rows[0].View(4))) (*start.mutable_parameters())[name] = value;
  start.mutable_repetition_rule()->ParseFromString(rows[0].BytesAt(5));
  start.set_target(rows[0].Text(6));
  if (const auto wait = rows[0].MaybeDouble(7)) start.set_quiet_wait_seconds(*wait);
  return start;
}

absl::StatusOr<std::optional<v1::StartTask>> PostgresRunStore::AssignNextTask(const HostId& host,
                                                                              const std::string& collector_id) {
  const std::string key = NewUuid();
  using Result = std::optional<v1::StartTask>;
  return database_.Query<Result>("assign a task", [&](Transaction& transaction) -> absl::StatusOr<Result> {
    // A commit of unknown outcome is found by its key.
    const Rows assigned = transaction.Exec(
        "SELECT t.id FROM fleetmark.task t JOIN fleetmark.attempt a ON a.task_id = t.id AND a.number = t.attempt"
        " WHERE t.host_id = $1 AND t.state = 'assigned' AND a.assign_key = $2",
        Args(host, key));
    if (!assigned.empty()) return ReadStartTask(transaction, assigned[0].Int64(0));
    // Holding the claim's row keeps every other assignment to this host out.
    if (transaction
            .Exec("SELECT 1 FROM fleetmark.claim WHERE host_id = $1 AND collector_id = $2 AND expires_at > now() FOR "
                  "UPDATE",
                  Args(host, collector_id))
            .empty()) {
      return Result();
    }
    const Rows offered = transaction.Exec(
        absl::StrCat("UPDATE fleetmark.attempt a SET assigned_at = now(), assigned_by = $2, assign_key = $3::uuid"
                     " FROM fleetmark.task t WHERE t.host_id = $1 AND",
                     kIsUnanswered, " RETURNING t.id"),
        Args(host, collector_id, key));
    if (!offered.empty()) return ReadStartTask(transaction, offered[0].Int64(0));
    if (!transaction
             .Exec("SELECT 1 FROM fleetmark.task WHERE host_id = $1 AND state IN ('assigned', 'running') LIMIT 1",
                   Args(host))
             .empty()) {
      return Result();
    }
    const std::optional<Candidate> candidate = FindCandidate(transaction, host);
    if (!candidate.has_value()) return Result();
    SetTaskState(transaction, candidate->task, v1::TASK_STATE_ASSIGNED, "");
    transaction.Exec(
        "WITH t AS (UPDATE fleetmark.task SET attempt = attempt + 1 WHERE id = $1 RETURNING id, attempt)"
        " INSERT INTO fleetmark.attempt (task_id, number, assigned_by, assign_key) SELECT id, attempt, $2, $3::uuid "
        "FROM t",
        Args(candidate->task, collector_id, key));
    RefreshRun(transaction, candidate->run);
    return ReadStartTask(transaction, candidate->task);
  });
}

absl::Status PostgresRunStore::TaskAccepted(const HostId& host, const AttemptKey& key) {
  return database_.Transact("record that the agent has the task", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec(
        "UPDATE fleetmark.attempt a SET accepted_at = coalesce(a.accepted_at, now()) FROM fleetmark.task t"
        " WHERE a.task_id = $1 AND a.number = $2 AND t.id = a.task_id AND t.host_id = $3",
        Args(key.task, key.attempt, host));
    return absl::OkStatus();
  });
}

absl::Status PostgresRunStore::TaskRefused(const HostId& host, const AttemptKey& key, const std::string& reason,
                                           bool temporary) {
  return database_.Transact("record that the agent refused the task", [&](Transaction& transaction) -> absl::Status {
    RunId run = 0;
    if (!LockCurrentAttempt(transaction, host, key, run)) return absl::OkStatus();  // of an old attempt
    if (!SetAttemptState(transaction, key, AttemptState::kDisowned)) return absl::OkStatus();
    const bool is_cancelled =
        !transaction.Exec("SELECT FROM fleetmark.run WHERE id = $1 AND cancel_requested_at IS NOT NULL", Args(run))
             .empty();
    if (temporary || is_cancelled) {
      RequeueTask(transaction, host, key.task, reason, /*counted=*/false);
    } else {
      SetTaskState(transaction, key.task, v1::TASK_STATE_SKIPPED, reason);
      Notify(transaction, kTaskChannel, host);
    }
    RefreshRun(transaction, run);
    return absl::OkStatus();
  });
}

// Not those that are at work: to ask for them would lock rows, and so write to a disk that may be measured just now.
absl::StatusOr<std::vector<HostId>> PostgresRunStore::HostsWithWork(const std::string& collector_id) {
  return database_.Query<std::vector<HostId>>(
      "look for hosts with tasks", [&](Transaction& transaction) -> absl::StatusOr<std::vector<HostId>> {
        std::vector<HostId> hosts;
        for (const Row row : transaction.Exec(
                 absl::StrCat(
                     "SELECT DISTINCT t.host_id FROM fleetmark.task t JOIN fleetmark.claim c ON c.host_id = t.host_id"
                     " JOIN fleetmark.run r ON r.id = t.run_id WHERE c.collector_id = $1"
                     " AND t.state IN ('queued', 'assigned', 'running')"
                     " AND (r.cancel_requested_at IS NOT NULL OR (t.state = 'queued' AND NOT EXISTS (SELECT"
                     " FROM fleetmark.task o WHERE o.host_id = t.host_id AND o.state IN ('assigned', 'running')))"
                     " OR EXISTS (SELECT FROM fleetmark.attempt a WHERE",
                     kIsUnanswered, "))"),
                 Args(collector_id))) {
          hosts.push_back(row.Text(0));
        }
        return hosts;
      });
}

absl::StatusOr<std::vector<AttemptKey>> PostgresRunStore::CancelRequests(const HostId& host) {
  return database_.Query<std::vector<AttemptKey>>(
      "look for cancelled tasks", [&](Transaction& transaction) -> absl::StatusOr<std::vector<AttemptKey>> {
        std::vector<AttemptKey> keys;
        for (const Row row : transaction.Exec(
                 "SELECT t.id, t.attempt FROM fleetmark.task t JOIN fleetmark.run r ON r.id = t.run_id"
                 " WHERE t.host_id = $1 AND t.state IN ('assigned', 'running') AND r.cancel_requested_at IS NOT NULL",
                 Args(host))) {
          keys.push_back({row.Int64(0), row.Uint32(1)});
        }
        return keys;
      });
}

}  // namespace fleetmark::collector
