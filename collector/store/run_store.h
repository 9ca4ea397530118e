// Runs, tasks and attempts: the rows that control everything. State changes go through the one transition table
// (states.h), and each emits NOTIFY with ids only.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

struct NewTask {
  HostId host;
  std::string host_name;                      // as it is now; copied
  std::map<std::string, std::string> labels;  // as they are now; copied
  uint32_t position = 0;                      // order on its host
  std::string workload;
  uint32_t version = 0;
  std::string target;                                    // empty: needs none
  std::map<std::string, v1::ParameterValue> parameters;  // identity, after defaulting, and derived ones the user fixed
  v1::RepetitionRule repetition_rule;
  std::optional<double> quiet_wait_seconds;
  std::string skipped_because;  // not empty: created as skipped with this reason
};

struct NewRun {
  std::string request_key;  // UUID of the request; empty: nobody asks for it again
  std::string name;
  std::string suite;
  uint32_t suite_version = 0;
  std::string created_by;
  bool serial = false;
  absl::Duration give_up = absl::Hours(24);
  std::vector<NewTask> tasks;  // not empty
};

class RunStore {
 public:
  virtual ~RunStore() = default;

  // Durable when it returns. A run whose tasks are all skipped is final at once (failed). With a key that has made a
  // run already: that run; ALREADY_EXISTS if somebody else made it.
  virtual absl::StatusOr<RunId> CreateRun(const NewRun& run) = 0;

  // With tasks, their progress rows and whether their hosts are connected.
  virtual absl::StatusOr<v1::Run> GetRun(RunId run) = 0;
  virtual absl::StatusOr<RunId> NewestRun() = 0;  // NOT_FOUND: none yet
  virtual absl::StatusOr<std::vector<v1::Run>> ListRuns(uint32_t limit, std::optional<RunId> before) = 0;

  // Queued tasks become cancelled; assigned and running ones are marked, for the host's collector to cancel. A run
  // that is final already: FAILED_PRECONDITION.
  virtual absl::Status CancelRun(RunId run, const std::string& who) = 0;

  // The next task of a host that this collector has claimed: makes an attempt, state assigned. Or once more the task
  // that was assigned 10 s ago and that the agent has not answered. nullopt: nothing to do (nothing queued; one is
  // active already; a serial run measures on another host). FOR UPDATE SKIP LOCKED.
  virtual absl::StatusOr<std::optional<v1::StartTask>> AssignNextTask(const HostId& host,
                                                                      const std::string& collector_id) = 0;
  // Hosts claimed by this collector for which there is something to do: a task that waits or that the agent has not
  // answered, or an active one that is to be cancelled. One query, however many hosts there are.
  virtual absl::StatusOr<std::vector<HostId>> HostsWithWork(const std::string& collector_id) = 0;
  virtual absl::Status TaskAccepted(const HostId& host, const AttemptKey& key) = 0;
  // Of a run that is to be cancelled: cancelled. Else temporary: back to queued; or skipped with the reason (the
  // agent's configuration does not allow it).
  virtual absl::Status TaskRefused(const HostId& host, const AttemptKey& key, const std::string& reason,
                                   bool temporary) = 0;
  // Active attempts of a host whose run is to be cancelled.
  virtual absl::StatusOr<std::vector<AttemptKey>> CancelRequests(const HostId& host) = 0;

  // After Hello: compares what the agent has with the rows. `start_again`: assigned but unknown to the agent, to be
  // sent again (same attempt). `cancel`: the agent has them, but they are cancelled or of an old attempt. An attempt
  // that the agent reports as interrupted, or a running one it no longer knows, is disowned: the task is queued for a
  // new attempt, at most twice, then failed.
  struct Reconciliation {
    std::vector<v1::StartTask> start_again;
    std::vector<AttemptKey> cancel;
  };
  virtual absl::StatusOr<Reconciliation> Reconcile(const HostId& host,
                                                   const std::vector<v1::UnfinishedTask>& unfinished) = 0;

  // Tasks that nobody will finish become lost, so that every run ends: queued ones and those of hosts that are away at
  // the run's give-up time, the others an hour later, and whatever is left 5 min after a cancellation. A result that
  // comes after all is still taken. Returns the runs it changed.
  virtual absl::StatusOr<std::vector<RunId>> GiveUpOverdue() = 0;

  // Ephemeral progress for watchers on other collectors: one unlogged row a task. What a host says of another host's
  // task is left out.
  struct HostProgress {
    HostId host;
    v1::Progress progress;
  };
  virtual absl::Status PublishProgress(const std::vector<HostProgress>& progress) = 0;
  virtual absl::StatusOr<std::vector<v1::Progress>> ReadProgress(RunId run) = 0;
  // "Somebody on this collector watches this run" (for the next 10 s).
  virtual absl::Status MarkWatched(RunId run, const std::string& collector_id) = 0;
  // Which of these tasks belong to a run that somebody watches, on any collector.
  virtual absl::StatusOr<std::vector<TaskId>> WatchedTasks(const std::vector<TaskId>& tasks) = 0;
};

}  // namespace fleetmark::collector
