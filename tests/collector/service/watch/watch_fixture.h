// A hub over runs in memory, and watchers that keep what they see.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "collector/service/watch/watch_hub.h"
#include "tests/support/collector/fake_run_store.h"
#include "tests/support/collector/recording_link.h"

namespace fleetmark::collector {

class RecordingWatcher : public RunWatcher {
 public:
  void OnRun(const std::shared_ptr<const v1::Run>& run, bool last) override {
    MutexLock lock(mutex_);
    frames_.push_back(*run);
    over_ = over_ || last;
  }
  void OnProgress(const v1::Progress& progress) override {
    MutexLock lock(mutex_);
    progress_.push_back(progress);
  }
  void OnError(const absl::Status& status) override {
    MutexLock lock(mutex_);
    errors_.push_back(status);
  }

  std::vector<v1::Run> frames() const {
    MutexLock lock(mutex_);
    return frames_;
  }
  std::vector<v1::Progress> progress() const {
    MutexLock lock(mutex_);
    return progress_;
  }
  std::vector<absl::Status> errors() const {
    MutexLock lock(mutex_);
    return errors_;
  }
  bool over() const {
    MutexLock lock(mutex_);
    return over_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<v1::Run> frames_ GUARDED_BY(mutex_);
  std::vector<v1::Progress> progress_ GUARDED_BY(mutex_);
  std::vector<absl::Status> errors_ GUARDED_BY(mutex_);
  bool over_ GUARDED_BY(mutex_) = false;
};

class WatchHubFixture : public ::testing::Test {
 protected:
  // Looks at the rows and exchanges progress all the time; a test that wants neither says so before StartHub().
  WatchHubFixture() { options_.poll = options_.exchange = absl::Milliseconds(2); }
  ~WatchHubFixture() override {
    if (hub_) hub_->Shutdown();
  }

  void StartHub() {
    hub_ = std::make_unique<WatchHub>(runs_, registry_, "c1", options_);
    hub_->Start();
  }

  // A run with one task, 10 times its number, on host "mac".
  static v1::Run RunOf(RunId id, v1::RunState state = v1::RUN_STATE_RUNNING,
                       v1::TaskState task_state = v1::TASK_STATE_RUNNING) {
    v1::Run run;
    run.set_id(id);
    run.set_state(state);
    v1::Task& task = *run.add_tasks();
    task.set_id(id * 10);
    task.set_host_id("mac");
    task.set_host_connected(true);
    task.set_state(task_state);
    return run;
  }
  static v1::Progress ProgressOf(TaskId task, double fraction, uint32_t attempt = 1) {
    v1::Progress progress;
    progress.set_task_id(task);
    progress.set_attempt(attempt);
    progress.set_fraction(fraction);
    return progress;
  }

  std::shared_ptr<RecordingWatcher> Watch(RunId run) {
    auto watcher = std::make_shared<RecordingWatcher>();
    hub_->Add(run, watcher);
    return watcher;
  }
  // A watcher that has had its first frame; from then on progress reaches it.
  std::shared_ptr<RecordingWatcher> WatchAndSee(RunId run) {
    auto watcher = Watch(run);
    EXPECT_TRUE(Await([&] { return !watcher->frames().empty(); }));
    return watcher;
  }
  bool Await(const std::function<bool()>& condition) { return runs_.Await(condition); }
  // The hub has looked at the run again, and told whomever it had to tell.
  bool AwaitLooks(RunId run) { return runs_.AwaitCalls(absl::StrCat("GetRun(", run, ")"), 3); }
  int Looks(RunId run) const { return runs_.calls(absl::StrCat("GetRun(", run, ")")); }

  test::FakeRunStore runs_;
  AgentRegistry registry_;
  WatchOptions options_;
  std::unique_ptr<WatchHub> hub_;
};

}  // namespace fleetmark::collector
