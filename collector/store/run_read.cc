#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/states.h"

namespace fleetmark::collector {
namespace {

// Followed by a WHERE on r.
constexpr char kSelectRun[] =
    "SELECT r.id, r.name, r.suite, r.suite_version, r.state, r.created_by, extract(epoch FROM r.created_at)::float8,"
    " extract(epoch FROM r.started_at)::float8, extract(epoch FROM r.finished_at)::float8, r.serial, t.total, t.final, "
    "t.hosts"
    " FROM fleetmark.run r LEFT JOIN LATERAL (SELECT count(*) AS total,"
    "  count(*) FILTER (WHERE state NOT IN ('queued', 'assigned', 'running')) AS final,"
    "  jsonb_object_agg(host_name, true) AS hosts FROM fleetmark.task WHERE run_id = r.id) t ON true";

constexpr char kSelectTasks[] =
    "SELECT t.id, t.host_id, t.host_name, t.position, t.workload, t.version, t.target, t.state, t.reason, t.late, "
    "t.attempt,"
    " t.parameters, a.identity_parameters, a.derived_parameters,"
    " coalesce(n.repetitions, 0), a.stop_reason, extract(epoch FROM a.started_at)::float8,"
    " extract(epoch FROM t.finished_at)::float8, a.flags, p.message, coalesce(c.expires_at > now(), false),"
    " h.refuses_tasks_because, h.removed_at IS NOT NULL"
    " FROM fleetmark.task t JOIN fleetmark.host h ON h.id = t.host_id"
    " LEFT JOIN fleetmark.attempt a ON a.task_id = t.id AND a.number = t.attempt"
    " LEFT JOIN fleetmark.claim c ON c.host_id = t.host_id"
    " LEFT JOIN fleetmark.task_progress p ON p.task_id = t.id AND p.attempt = t.attempt"
    " LEFT JOIN LATERAL (SELECT count(*) AS repetitions FROM fleetmark.repetition e"
    "  WHERE e.task_id = t.id AND e.attempt = t.attempt AND NOT e.warmup) n ON true"
    " WHERE t.run_id = $1 ORDER BY t.host_name, t.host_id, t.position, t.id";

v1::Run ReadRun(const Row& row) {
  v1::Run run;
  run.set_id(row.Int64(0));
  run.set_name(row.Text(1));
  run.set_suite(row.Text(2));
  run.set_suite_version(row.Uint32(3));
  run.set_state(RunStateNamed(row.View(4)));
  run.set_created_by(row.Text(5));
  run.set_created_unix_seconds(row.Double(6));
  if (const auto at = row.MaybeDouble(7)) run.set_started_unix_seconds(*at);
  if (const auto at = row.MaybeDouble(8)) run.set_finished_unix_seconds(*at);
  run.set_serial(row.Bool(9));
  run.set_tasks_total(row.Uint32(10));
  run.set_tasks_final(row.Uint32(11));
  if (!row.IsNull(12)) {
    for (const auto& [name, unused] : ParametersFromJson(row.View(12))) run.add_hosts(name);
  }
  return run;
}

void FillMap(const Parameters& from, ParameterMap* to) {
  for (const auto& [name, value] : from) (*to)[name] = value;
}

// Why a task that could run does not.
std::string WaitingReason(const v1::Task& task, const std::string& refuses_because, bool removed) {
  if (removed) return "the host was removed";
  if (!task.host_connected()) return "waits for its host, which is not connected";
  if (task.state() == v1::TASK_STATE_QUEUED && !refuses_because.empty())
    return "the host takes no tasks: " + refuses_because;
  return "";
}

v1::Task ReadTask(const Row& row) {
  v1::Task task;
  task.set_id(row.Int64(0));
  task.set_host_id(row.Text(1));
  task.set_host(row.Text(2));
  task.set_position(row.Uint32(3));
  task.set_workload(row.Text(4));
  task.set_version(row.Uint32(5));
  task.set_target(row.Text(6));
  task.set_state(TaskStateNamed(row.View(7)));
  task.set_reason(row.Text(8));
  task.set_late(row.Bool(9));
  task.set_attempt(row.Uint32(10));
  FillMap(ParametersFromJson(row.View(11)), task.mutable_parameters());
  if (!row.IsNull(12)) FillMap(ParametersFromJson(row.View(12)), task.mutable_parameters());
  if (!row.IsNull(13)) FillMap(ParametersFromJson(row.View(13)), task.mutable_derived_parameters());
  task.set_repetitions(row.Uint32(14));
  task.set_stop_reason(row.TextOrEmpty(15));
  if (const auto at = row.MaybeDouble(16)) task.set_started_unix_seconds(*at);
  if (const auto at = row.MaybeDouble(17)) task.set_finished_unix_seconds(*at);
  if (!row.IsNull(18)) FlagsFromJson(row.View(18), task.mutable_flags());
  task.set_host_connected(row.Bool(20));
  if (!IsFinal(task.state())) {
    if (!row.IsNull(19)) task.mutable_progress()->ParseFromString(row.BytesAt(19));
    const std::string waiting = WaitingReason(task, row.Text(21), row.Bool(22));
    if (!waiting.empty()) task.set_reason(waiting);
  }
  return task;
}

}  // namespace

absl::StatusOr<v1::Run> PostgresRunStore::GetRun(RunId id) {
  return database_.Query<v1::Run>(
      absl::StrCat("read run ", id), [&](Transaction& transaction) -> absl::StatusOr<v1::Run> {
        // One view of both tables: a task that ends between two statements must not make a run of two states.
        transaction.ExecScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        const Rows rows = transaction.Exec(absl::StrCat(kSelectRun, " WHERE r.id = $1"), Args(id));
        if (rows.empty()) return absl::NotFoundError(absl::StrCat("no run ", id, "; 'fleetmark runs' lists them"));
        v1::Run run = ReadRun(rows[0]);
        for (const Row row : transaction.Exec(kSelectTasks, Args(id))) *run.add_tasks() = ReadTask(row);
        return run;
      });
}

absl::StatusOr<RunId> PostgresRunStore::NewestRun() {
  return database_.Query<RunId>("find the newest run", [&](Transaction& transaction) -> absl::StatusOr<RunId> {
    const Rows rows = transaction.Exec("SELECT max(id) FROM fleetmark.run");
    if (rows[0].IsNull(0)) return absl::NotFoundError("there is no run yet; 'fleetmark run quick --all' makes one");
    return rows[0].Int64(0);
  });
}

absl::StatusOr<std::vector<v1::Run>> PostgresRunStore::ListRuns(uint32_t limit, std::optional<RunId> before) {
  return database_.Query<std::vector<v1::Run>>(
      "list runs", [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::Run>> {
        std::vector<v1::Run> runs;
        for (const Row row : transaction.Exec(
                 absl::StrCat(kSelectRun, " WHERE $1::bigint IS NULL OR r.id < $1 ORDER BY r.id DESC LIMIT $2"),
                 Args(before, limit))) {
          runs.push_back(ReadRun(row));
        }
        return runs;
      });
}

}  // namespace fleetmark::collector
