// FakeRunStore: a RunStore in memory: runs are as a test puts them, answers of agents and progress are kept. What tests
// of sessions and watchers do not need is UNIMPLEMENTED. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/run_store.h"
#include "tests/support/collector/store_calls.h"

namespace fleetmark::test {

class FakeRunStore : public collector::RunStore, public StoreCalls {
 public:
  using HostId = collector::HostId;
  using RunId = collector::RunId;
  using TaskId = collector::TaskId;
  using AttemptKey = collector::AttemptKey;

  // What a test sets and sees. Reads of one run count as "GetRun(7)" too.
  struct Refused {
    AttemptKey key;
    std::string reason;
    bool temporary = false;
  };
  void Put(const v1::Run& run) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    runs_[run.id()] = run;
  }
  void Erase(RunId run) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    runs_.erase(run);
  }
  // As another collector would write it.
  void PutProgress(RunId run, const v1::Progress& progress) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    progress_[run][progress.task_id()] = progress;
  }
  // By somebody on another collector.
  void SetWatched(const std::set<TaskId>& tasks) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    watched_ = tasks;
  }
  void SetReconciliation(const Reconciliation& reconciliation) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    reconciliation_ = reconciliation;
  }
  std::vector<v1::UnfinishedTask> unfinished() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return unfinished_;
  }
  std::vector<AttemptKey> accepted() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return accepted_;
  }
  std::vector<Refused> refused() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return refused_;
  }
  std::vector<v1::Progress> published() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return published_;
  }

  absl::StatusOr<v1::Run> GetRun(RunId run) override {
    const absl::Status status = Called("GetRun");
    const absl::Status this_one = Called(absl::StrCat("GetRun(", run, ")"));
    if (!status.ok()) return status;
    if (!this_one.ok()) return this_one;
    MutexLock lock(mutex_);
    const auto found = runs_.find(run);
    if (found == runs_.end()) return absl::NotFoundError(absl::StrCat("no run ", run));
    return found->second;
  }

  absl::Status TaskAccepted(const HostId&, const AttemptKey& key) override {
    if (const absl::Status status = Called("TaskAccepted"); !status.ok()) return status;
    MutexLock lock(mutex_);
    accepted_.push_back(key);
    return absl::OkStatus();
  }
  absl::Status TaskRefused(const HostId&, const AttemptKey& key, const std::string& reason, bool temporary) override {
    if (const absl::Status status = Called("TaskRefused"); !status.ok()) return status;
    MutexLock lock(mutex_);
    refused_.push_back({key, reason, temporary});
    return absl::OkStatus();
  }
  absl::StatusOr<Reconciliation> Reconcile(const HostId&, const std::vector<v1::UnfinishedTask>& unfinished) override {
    if (const absl::Status status = Called("Reconcile"); !status.ok()) return status;
    MutexLock lock(mutex_);
    unfinished_ = unfinished;
    return reconciliation_;
  }

  absl::Status PublishProgress(const std::vector<HostProgress>& progress) override {
    if (const absl::Status status = Called("PublishProgress"); !status.ok()) return status;
    MutexLock lock(mutex_);
    for (const HostProgress& one : progress) published_.push_back(one.progress);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<v1::Progress>> ReadProgress(RunId run) override {
    if (const absl::Status status = Called("ReadProgress"); !status.ok()) return status;
    MutexLock lock(mutex_);
    std::vector<v1::Progress> rows;
    for (const auto& [task, progress] : progress_[run]) rows.push_back(progress);
    return rows;
  }
  absl::Status MarkWatched(RunId run, const std::string&) override {
    return Called(absl::StrCat("MarkWatched(", run, ")"));
  }
  absl::StatusOr<std::vector<TaskId>> WatchedTasks(const std::vector<TaskId>& tasks) override {
    if (const absl::Status status = Called("WatchedTasks"); !status.ok()) return status;
    MutexLock lock(mutex_);
    std::vector<TaskId> watched;
    for (const TaskId task : tasks) {
      if (watched_.contains(task)) watched.push_back(task);
    }
    return watched;
  }

  absl::StatusOr<RunId> CreateRun(const collector::NewRun&) override { return NotHere(); }
  absl::StatusOr<RunId> NewestRun() override { return NotHere(); }
  absl::StatusOr<std::vector<v1::Run>> ListRuns(uint32_t, std::optional<RunId>) override { return NotHere(); }
  absl::Status CancelRun(RunId, const std::string&) override { return NotHere(); }
  absl::StatusOr<std::optional<v1::StartTask>> AssignNextTask(const HostId&, const std::string&) override {
    return NotHere();
  }
  absl::StatusOr<std::vector<HostId>> HostsWithWork(const std::string&) override { return NotHere(); }
  absl::StatusOr<std::vector<AttemptKey>> CancelRequests(const HostId&) override { return NotHere(); }
  absl::StatusOr<std::vector<RunId>> GiveUpOverdue() override { return NotHere(); }

 private:
  static absl::Status NotHere() { return absl::UnimplementedError("not in FakeRunStore"); }

  mutable Mutex mutex_;
  std::map<RunId, v1::Run> runs_ GUARDED_BY(mutex_);
  std::map<RunId, std::map<TaskId, v1::Progress>> progress_ GUARDED_BY(mutex_);
  std::set<TaskId> watched_ GUARDED_BY(mutex_);
  Reconciliation reconciliation_ GUARDED_BY(mutex_);
  std::vector<v1::UnfinishedTask> unfinished_ GUARDED_BY(mutex_);
  std::vector<AttemptKey> accepted_ GUARDED_BY(mutex_);
  std::vector<Refused> refused_ GUARDED_BY(mutex_);
  std::vector<v1::Progress> published_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::test
