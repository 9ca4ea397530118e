#include "collector/store/record_apply.h"

#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/record_rows.h"
#include "collector/store/run_state.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {
namespace {

struct AttemptRow {
  int64_t contiguous = 0;
  bool open = false;     // its state is `started`
  bool current = false;  // it is the newest of its task
  v1::TaskState task_state = v1::TASK_STATE_UNSPECIFIED;
};

AttemptRow ReadAttempt(Transaction& transaction, const AttemptKey& key) {
  const Rows rows = transaction.Exec(
      "SELECT a.contiguous_sequence, a.state = 'started', t.attempt = a.number, t.state"
      " FROM fleetmark.attempt a JOIN fleetmark.task t ON t.id = a.task_id WHERE a.task_id = $1 AND a.number = $2",
      Args(key.task, key.attempt));
  return {rows[0].Int64(0), rows[0].Bool(1), rows[0].Bool(2), TaskStateNamed(rows[0].View(3))};
}

bool ApplyStarted(Transaction& transaction, const HostId& host, const AttemptKey& key, const v1::TaskStarted& started,
                  absl::Time at) {
  const v1::Target& target = started.target();
  std::string disk_identity, disk_label;
  if (target.disks_size() > 0) {
    disk_identity = target.disks(0).identity();
    disk_label = target.disks(0).has_model() ? target.disks(0).model() : target.disks(0).kernel_name();
  }
  std::optional<int64_t> snapshot;
  if (started.has_inventory()) snapshot = EnsureSnapshot(transaction, host, started.inventory());
  Args args(key.task, key.attempt, at, snapshot, started.inventory().agent_build(), target.path(), disk_identity,
            disk_label, DescribeStack(target), ParametersToJson(started.identity_parameters()),
            ParametersToJson(started.derived_parameters()));
  if (started.has_target()) {
    args.Add(Bytes{SerializeStable(target)});
  } else {
    args.Add(std::nullopt);
  }
  transaction.Exec(
      "UPDATE fleetmark.attempt SET started_at = $3, snapshot_id = $4, agent_build = $5, target_path = $6,"
      " disk_identity = $7, disk_label = $8, stack = $9, identity_parameters = $10, derived_parameters = $11, target = "
      "$12"
      " WHERE task_id = $1 AND number = $2",
      args);
  const AttemptRow attempt = ReadAttempt(transaction, key);
  if (!attempt.open || !attempt.current) return false;
  return SetTaskState(transaction, key.task, v1::TASK_STATE_RUNNING, "");
}

v1::TaskState StateFor(const v1::TaskFinished& finished, std::string& reason) {
  reason = finished.reason();
  switch (finished.outcome()) {
    case v1::TASK_OUTCOME_SUCCEEDED:
      reason.clear();
      return v1::TASK_STATE_SUCCEEDED;
    case v1::TASK_OUTCOME_SKIPPED:
      return v1::TASK_STATE_SKIPPED;
    case v1::TASK_OUTCOME_CANCELLED:
      return v1::TASK_STATE_CANCELLED;
    case v1::TASK_OUTCOME_FAILED:
      return v1::TASK_STATE_FAILED;
    default:
      reason = absl::StrCat("the agent reports an outcome that this collector does not know (",
                            static_cast<int>(finished.outcome()), ")", reason.empty() ? "" : ": ", reason);
      return v1::TASK_STATE_FAILED;
  }
}

bool ApplyFinished(Transaction& transaction, const HostId& host, const AttemptKey& key,
                   const v1::TaskFinished& finished, absl::Time at) {
  std::optional<double> elapsed;
  if (finished.has_elapsed_seconds()) elapsed = finished.elapsed_seconds();
  transaction.Exec(
      "UPDATE fleetmark.attempt SET finished_at = $3, outcome = $4, reason = $5, stop_reason = $6, repetitions = $7,"
      " flags = $8, elapsed_seconds = $9, derived_parameters = derived_parameters || $10::jsonb"
      " WHERE task_id = $1 AND number = $2",
      Args(key.task, key.attempt, at, static_cast<int>(finished.outcome()), finished.reason(), finished.stop_reason(),
           finished.repetitions(), FlagsToJson(finished.flags()), elapsed,
           ParametersToJson(finished.derived_parameters())));
  const AttemptRow attempt = ReadAttempt(transaction, key);
  const bool interrupted = finished.outcome() == v1::TASK_OUTCOME_INTERRUPTED;
  // An attempt that was disowned meanwhile keeps its records and decides nothing.
  if (!SetAttemptState(transaction, key, interrupted ? AttemptState::kInterrupted : AttemptState::kFinished))
    return false;
  if (!attempt.current) return false;
  bool changed = false;
  if (attempt.task_state == v1::TASK_STATE_LOST) {
    changed = finished.outcome() == v1::TASK_OUTCOME_SUCCEEDED &&
              SetTaskState(transaction, key.task, v1::TASK_STATE_SUCCEEDED, "", /*late=*/true);
  } else if (interrupted) {
    RequeueTask(transaction, host, key.task,
                finished.reason().empty() ? "the measurement was interrupted" : finished.reason(), /*counted=*/true);
    changed = true;
  } else {
    std::string reason;
    const v1::TaskState to = StateFor(finished, reason);
    if (attempt.task_state == v1::TASK_STATE_ASSIGNED) {
      SetTaskState(transaction, key.task, v1::TASK_STATE_RUNNING, "");
    }
    changed = SetTaskState(transaction, key.task, to, reason);
  }
  Notify(transaction, kTaskChannel, host);  // there may be a next one
  return changed;
}

}  // namespace

std::string DescribeStack(const v1::Target& target) {
  std::string text = target.file_system();
  for (const v1::StorageLayer& layer : target.stack()) {
    absl::StrAppend(&text, text.empty() ? "" : " > ", layer.device().empty() ? layer.kind() : layer.device());
  }
  if (target.stack_size() == 0 && target.disks_size() > 0) {
    absl::StrAppend(&text, text.empty() ? "" : " > ", target.disks(0).kernel_name());
  }
  return text;
}

int64_t AdvanceAttempt(Transaction& transaction, const HostId& host, const AttemptKey& key, bool* state_changed) {
  const int64_t before = ReadAttempt(transaction, key).contiguous;
  const int64_t after =
      transaction
          .Exec(
              "SELECT coalesce(max(sequence), $3::bigint) FROM (SELECT sequence, row_number() OVER (ORDER BY sequence) "
              "AS n"
              " FROM fleetmark.record WHERE task_id = $1 AND attempt = $2 AND sequence > $3::bigint) s"
              " WHERE sequence = $3::bigint + n",
              Args(key.task, key.attempt, before))[0]
          .Int64(0);
  if (after == before) return before;
  transaction.Exec("UPDATE fleetmark.attempt SET contiguous_sequence = $3 WHERE task_id = $1 AND number = $2",
                   Args(key.task, key.attempt, after));
  for (const Row row : transaction.Exec(
           "SELECT message, extract(epoch FROM received_at)::float8 FROM fleetmark.record WHERE task_id = $1"
           " AND attempt = $2 AND sequence > $3 AND sequence <= $4 AND message IS NOT NULL ORDER BY sequence",
           Args(key.task, key.attempt, before, after))) {
    v1::Record record;
    record.ParseFromString(row.BytesAt(0));
    const absl::Time received = absl::FromUnixMicros(static_cast<int64_t>(row.Double(1) * 1e6));
    const absl::Time at = PlausibleTime(record.agent_unix_seconds(), received)
                              ? absl::FromUnixMicros(static_cast<int64_t>(record.agent_unix_seconds() * 1e6))
                              : received;
    if (record.has_started()) {
      *state_changed |= ApplyStarted(transaction, host, key, record.started(), at);
    } else if (record.has_finished()) {
      *state_changed |= ApplyFinished(transaction, host, key, record.finished(), at);
    }
  }
  return after;
}

}  // namespace fleetmark::collector
