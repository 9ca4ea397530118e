// RunStore over PostgreSQL. Stateless but for the database: thread-safe. Spread over run_create.cc, run_read.cc,
// run_assign.cc (what an agent answers included), run_reconcile.cc and run_progress.cc.
#pragma once

#include "collector/store/database.h"
#include "collector/store/run_store.h"

namespace fleetmark::collector {

class PostgresRunStore : public RunStore {
 public:
  explicit PostgresRunStore(Database& database) : database_(database) {}

  absl::StatusOr<RunId> CreateRun(const NewRun& run) override;
  absl::StatusOr<v1::Run> GetRun(RunId run) override;
  absl::StatusOr<RunId> NewestRun() override;
  absl::StatusOr<std::vector<v1::Run>> ListRuns(uint32_t limit, std::optional<RunId> before) override;
  absl::Status CancelRun(RunId run, const std::string& who) override;
  absl::StatusOr<std::optional<v1::StartTask>> AssignNextTask(const HostId& host,
                                                              const std::string& collector_id) override;
  absl::Status TaskAccepted(const HostId& host, const AttemptKey& key) override;
  absl::Status TaskRefused(const HostId& host, const AttemptKey& key, const std::string& reason,
                           bool temporary) override;
  absl::StatusOr<std::vector<HostId>> HostsWithWork(const std::string& collector_id) override;
  absl::StatusOr<std::vector<AttemptKey>> CancelRequests(const HostId& host) override;
  absl::StatusOr<Reconciliation> Reconcile(const HostId& host,
                                           const std::vector<v1::UnfinishedTask>& unfinished) override;
  absl::StatusOr<std::vector<RunId>> GiveUpOverdue() override;
  absl::Status PublishProgress(const std::vector<HostProgress>& progress) override;
  absl::StatusOr<std::vector<v1::Progress>> ReadProgress(RunId run) override;
  absl::Status MarkWatched(RunId run, const std::string& collector_id) override;
  absl::StatusOr<std::vector<TaskId>> WatchedTasks(const std::vector<TaskId>& tasks) override;

 private:
  Database& database_;
};

// The order to start a task, read from its row: what AssignNextTask and Reconcile send. nullopt: no such task.
std::optional<v1::StartTask> ReadStartTask(Transaction& transaction, TaskId task);

}  // namespace fleetmark::collector
