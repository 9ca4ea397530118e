// Ephemeral progress, for watchers on other collectors: unlogged rows, not waited for.
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {

absl::Status PostgresRunStore::PublishProgress(const std::vector<HostProgress>& progress) {
  std::map<std::pair<TaskId, HostId>, v1::Progress> newest;
  for (const HostProgress& one : progress) {
    v1::Progress& kept = newest[{one.progress.task_id(), one.host}];
    kept = one.progress;
    CleanMessage(kept);
  }
  if (newest.empty()) return absl::OkStatus();
  std::vector<int64_t> tasks, attempts;
  std::vector<std::string> hosts, messages;
  for (const auto& [key, one] : newest) {
    tasks.push_back(key.first);
    hosts.push_back(key.second);
    attempts.push_back(one.attempt());
    messages.push_back(sql::FromBytes(SerializeStable(one)));
  }
  return database_.Transact(
      "publish progress",
      [&](Transaction& transaction) -> absl::Status {
        std::set<int64_t> runs;
        for (const Row row : transaction.Exec(
                 "INSERT INTO fleetmark.task_progress (task_id, run_id, attempt, message)"
                 " SELECT t.id, t.run_id, x.attempt, x.message"
                 " FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bytea[]) AS x(task, host, attempt, message)"
                 " JOIN fleetmark.task t ON t.id = x.task AND t.host_id = x.host"
                 " AND t.state IN ('assigned', 'running') ORDER BY t.id"
                 " ON CONFLICT (task_id) DO UPDATE SET attempt = excluded.attempt, message = excluded.message,"
                 " updated_at = now() RETURNING run_id",
                 Args(tasks, hosts, attempts, messages))) {
          runs.insert(row.Int64(0));
        }
        for (const int64_t run : runs) Notify(transaction, kProgressChannel, absl::StrCat(run));
        return absl::OkStatus();
      },
      {.durable = false});
}

absl::StatusOr<std::vector<v1::Progress>> PostgresRunStore::ReadProgress(RunId run) {
  return database_.Query<std::vector<v1::Progress>>(
      "read progress", [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::Progress>> {
        std::vector<v1::Progress> progress;
        for (const Row row : transaction.Exec(
                 "SELECT message FROM fleetmark.task_progress WHERE run_id = $1 ORDER BY task_id", Args(run))) {
          progress.emplace_back().ParseFromString(row.BytesAt(0));
        }
        return progress;
      });
}

absl::Status PostgresRunStore::MarkWatched(RunId run, const std::string& collector_id) {
  return database_.Transact(
      "mark the run as watched",
      [&](Transaction& transaction) -> absl::Status {
        transaction.Exec(
            "INSERT INTO fleetmark.run_watch (run_id, collector_id, until) VALUES ($1, $2, now() + interval '10 s')"
            " ON CONFLICT (run_id, collector_id) DO UPDATE SET until = excluded.until",
            Args(run, collector_id));
        transaction.Exec("DELETE FROM fleetmark.run_watch WHERE until < now() - interval '1 min'");
        return absl::OkStatus();
      },
      {.durable = false});
}

absl::StatusOr<std::vector<TaskId>> PostgresRunStore::WatchedTasks(const std::vector<TaskId>& tasks) {
  return database_.Query<std::vector<TaskId>>(
      "look who watches", [&](Transaction& transaction) -> absl::StatusOr<std::vector<TaskId>> {
        std::vector<TaskId> watched;
        for (const Row row : transaction.Exec(
                 "SELECT DISTINCT t.id FROM fleetmark.task t JOIN fleetmark.run_watch w ON w.run_id = t.run_id"
                 " AND w.until > now() WHERE t.id = ANY($1::bigint[])",
                 Args(tasks))) {
          watched.push_back(row.Int64(0));
        }
        return watched;
      });
}

}  // namespace fleetmark::collector
