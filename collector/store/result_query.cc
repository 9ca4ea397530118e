#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_result_store.h"
#include "collector/store/states.h"

namespace fleetmark::collector {
namespace {

// $1 hosts or runs, $2 workloads (empty: all), $3 hosts that restrict runs.

// The newest task of each host, workload, target, disk and set of identity parameters that has values.
constexpr char kNewest[] =
    "SELECT DISTINCT ON (t.host_id, t.workload, t.version, t.target, a.disk_identity, a.identity_parameters) t.id"
    " FROM fleetmark.task t JOIN fleetmark.attempt a ON a.task_id = t.id AND a.number = t.attempt"
    " WHERE t.host_id = ANY($1::uuid[]) AND t.state = 'succeeded'"
    " AND (cardinality($2::text[]) = 0 OR t.workload = ANY($2::text[]))"
    " AND EXISTS (SELECT 1 FROM fleetmark.measurement m WHERE m.task_id = t.id AND m.attempt = t.attempt"
    "             AND NOT m.warmup AND m.value IS NOT NULL)"
    " ORDER BY t.host_id, t.workload, t.version, t.target, a.disk_identity, a.identity_parameters, t.run_id DESC, t.id "
    "DESC";

constexpr char kOfRuns[] =
    "SELECT t.id FROM fleetmark.task t WHERE t.run_id = ANY($1::bigint[])"
    " AND (cardinality($2::text[]) = 0 OR t.workload = ANY($2::text[]))"
    " AND (cardinality($3::uuid[]) = 0 OR t.host_id = ANY($3::uuid[]))";

// By its present name, as its results.
constexpr char kNoteColumns[] =
    "t.run_id, t.host_id, coalesce((SELECT h.name FROM fleetmark.host h WHERE h.id = t.host_id), t.host_name), "
    "t.target,"
    " t.workload, t.version, t.state, t.reason";

// Where the newest final task of a host, workload and target yielded nothing: that is worth a word beside older values.
constexpr char kNotesOfNewest[] =
    " FROM (SELECT DISTINCT ON (n.host_id, n.workload, n.version, n.target) n.* FROM fleetmark.task n"
    "  WHERE n.host_id = ANY($1::uuid[]) AND n.state IN ('succeeded', 'failed', 'skipped', 'cancelled', 'lost')"
    "  AND (cardinality($2::text[]) = 0 OR n.workload = ANY($2::text[]))"
    "  ORDER BY n.host_id, n.workload, n.version, n.target, n.run_id DESC, n.id DESC) t"
    " WHERE t.state <> 'succeeded' ORDER BY t.run_id, t.id";

constexpr char kNotesOfRuns[] =
    " FROM fleetmark.task t WHERE t.run_id = ANY($1::bigint[]) AND t.state <> 'succeeded'"
    " AND (cardinality($2::text[]) = 0 OR t.workload = ANY($2::text[]))"
    " AND (cardinality($3::uuid[]) = 0 OR t.host_id = ANY($3::uuid[])) ORDER BY t.run_id, t.id";

constexpr char kTasks[] =
    "SELECT t.id, t.run_id, t.host_id, h.name, t.target, a.target_path, a.disk_identity, a.disk_label, a.stack, "
    "t.workload,"
    " t.version, a.identity_parameters, a.derived_parameters, a.agent_build"
    " FROM fleetmark.task t JOIN fleetmark.attempt a ON a.task_id = t.id AND a.number = t.attempt"
    " JOIN fleetmark.host h ON h.id = t.host_id"
    " WHERE t.id = ANY($1::bigint[]) AND a.state NOT IN ('interrupted', 'disowned')";

constexpr char kMeasurements[] =
    "SELECT m.task_id, m.repetition, m.message, m.latency_histogram, r.flags, extract(epoch FROM r.started_at)::float8"
    " FROM fleetmark.task t JOIN fleetmark.measurement m ON m.task_id = t.id AND m.attempt = t.attempt AND NOT m.warmup"
    " JOIN fleetmark.repetition r ON r.task_id = m.task_id AND r.attempt = m.attempt AND r.warmup = m.warmup"
    "  AND r.number = m.repetition"
    " WHERE t.id = ANY($1::bigint[]) ORDER BY t.run_id, t.id, m.repetition, m.ordinal";

ResultRow ReadTaskColumns(const Row& row) {
  ResultRow result;
  result.task = row.Int64(0);
  result.run = row.Int64(1);
  result.host = row.Text(2);
  result.host_name = row.Text(3);
  result.target = row.Text(4);
  result.target_path = row.Text(5);
  result.disk = row.Text(6);
  result.disk_label = row.Text(7);
  result.stack = row.Text(8);
  result.workload = row.Text(9);
  result.version = row.Uint32(10);
  result.identity_parameters = ParametersFromJson(row.View(11));
  result.derived_parameters = ParametersFromJson(row.View(12));
  result.agent_build = row.Text(13);
  return result;
}

TaskNote ReadNote(const Row& row) {
  TaskNote note;
  note.run = row.Int64(0);
  note.host = row.Text(1);
  note.host_name = row.Text(2);
  note.target = row.Text(3);
  note.workload = row.Text(4);
  note.version = row.Uint32(5);
  note.state = TaskStateNamed(row.View(6));
  note.reason = row.Text(7);
  return note;
}

}  // namespace

absl::StatusOr<ResultSet> PostgresResultStore::Query(const ResultQuery& query) {
  const bool by_run = !query.runs.empty();
  if (!by_run && query.hosts.empty()) return ResultSet();
  return database_.Query<ResultSet>("read results", [&](Transaction& transaction) -> absl::StatusOr<ResultSet> {
    transaction.ExecScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    ResultSet set;
    const Args by_hosts(query.hosts, query.workloads);
    const Args by_runs(query.runs, query.workloads, query.hosts);
    std::vector<int64_t> chosen;
    for (const Row row : transaction.Exec(by_run ? kOfRuns : kNewest, by_run ? by_runs : by_hosts)) {
      chosen.push_back(row.Int64(0));
    }
    for (const Row row : transaction.Exec(absl::StrCat("SELECT ", kNoteColumns, by_run ? kNotesOfRuns : kNotesOfNewest),
                                          by_run ? by_runs : by_hosts)) {
      set.notes.push_back(ReadNote(row));
    }
    std::map<TaskId, ResultRow> tasks;
    for (const Row row : transaction.Exec(kTasks, Args(chosen))) tasks.emplace(row.Int64(0), ReadTaskColumns(row));
    for (const Row row : transaction.Exec(kMeasurements, Args(chosen))) {
      const auto task = tasks.find(row.Int64(0));
      if (task == tasks.end()) continue;
      ResultRow& result = set.rows.emplace_back(task->second);
      result.repetition = row.Uint32(1);
      result.measurement.ParseFromString(row.BytesAt(2));
      if (!row.IsNull(3)) result.measurement.set_latency_histogram(row.BytesAt(3));
      FlagsFromJson(row.View(4), result.measurement.mutable_flags());
      result.started_unix_seconds = row.Double(5);
    }
    return set;
  });
}

}  // namespace fleetmark::collector
