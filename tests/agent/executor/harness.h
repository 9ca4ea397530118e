// An executor with test workloads, a listener that remembers, and a directory on a disk that must be empty at the end.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/executor/executor.h"
#include "agent/platform/storage_stack.h"
#include "agent/worker/process_identity.h"
#include "common/sync/mutex.h"
#include "tests/agent/executor/test_workloads.h"

namespace fleetmark::agent {

class RecordingListener : public TaskListener {
 public:
  void OnStart(const v1::StartTask&) override {
    MutexLock lock(mutex_);
    ++starts_;
  }
  absl::Status OnRecords(const v1::StartTask& task, std::vector<v1::Record> records) override {
    MutexLock lock(mutex_);
    for (v1::Record& record : records) records_.push_back(std::move(record));
    changed_.NotifyAll();
    return on_records ? on_records(task) : absl::OkStatus();
  }
  void OnProgress(const v1::Progress& progress) override {
    MutexLock lock(mutex_);
    progress_.push_back(progress);
    changed_.NotifyAll();
  }
  void OnEnd(const v1::StartTask& task, const v1::TaskFinished& finished) override {
    MutexLock lock(mutex_);
    ended_.emplace_back(task.task_id(), finished);
    changed_.NotifyAll();
  }

  // Waits, as long as the test's own limit allows.
  template <typename Predicate>
  void WaitUntil(Predicate predicate) {
    MutexLock lock(mutex_);
    while (!predicate(*this)) changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
  }
  v1::TaskFinished WaitForEnd(int64_t task_id) {
    v1::TaskFinished result;
    WaitUntil([&](RecordingListener& self) {
      for (const auto& [id, finished] : self.ended_) {
        if (id == task_id) result = finished;
      }
      return result.outcome() != v1::TASK_OUTCOME_UNSPECIFIED;
    });
    return result;
  }
  void WaitForProgress() {
    WaitUntil([](RecordingListener& self) { return !self.progress_.empty(); });
  }
  void WaitForMeasuring() {
    WaitUntil(
        [](RecordingListener& self) { return !self.progress_.empty() && self.progress_.back().step() == "waiting"; });
  }
  std::vector<v1::Record> records() {
    MutexLock lock(mutex_);
    return records_;
  }
  std::vector<v1::Progress> progress() {
    MutexLock lock(mutex_);
    return progress_;
  }

  std::function<absl::Status(const v1::StartTask&)> on_records;

 private:
  Mutex mutex_;
  CondVar changed_;
  int starts_ = 0;
  std::vector<v1::Record> records_;
  std::vector<v1::Progress> progress_;
  std::vector<std::pair<int64_t, v1::TaskFinished>> ended_;
};

class ExecutorFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    // In the build tree rather than /tmp, which may be in memory, where disk workloads refuse to run.
    std::string name = std::filesystem::current_path().string() + "/fleetmark test ü XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    std::filesystem::create_directory(root_ + "/target");
    std::filesystem::create_directory(root_ + "/state");
    v1::TargetConfig& target = *config_.add_targets();
    target.set_name("ssd");
    target.set_path(root_ + "/target");
    target.set_is_default(true);
    config_.set_min_free_bytes("0");
    Reset();
  }

  // Nothing is left behind: no scratch, no manifest, no process.
  void TearDown() override {
    if (executor_ != nullptr) executor_->Shutdown(absl::Seconds(5));
    executor_.reset();
    if (!leftovers_expected_) {
      EXPECT_EQ(Entries(root_ + "/target"), std::vector<std::string>{});
      EXPECT_EQ(Entries(root_ + "/state/manifests"), std::vector<std::string>{});
    }
    EXPECT_EQ(Children(), std::vector<pid_t>{});
    std::filesystem::remove_all(root_);
  }

  void Reset() {
    if (executor_ != nullptr) executor_->Shutdown(absl::Seconds(5));
    Executor::Dependencies dependencies;
    dependencies.config = &config_;
    dependencies.take_inventory = [] { return v1::Inventory(); };
    dependencies.state_directory = root_ + "/state";
    dependencies.listener = &listener_;
    dependencies.workloads = &TestWorkloads();
    dependencies.worker_program = FLEETMARK_TEST_WORKER;
    dependencies.silence_limit = silence_limit_;
    dependencies.lock_directory = root_ + "/state";
    executor_ = Executor::Create(dependencies);
    executor_->Start();
  }

  bool TargetIsOnDisk() const {
    const auto stack = ResolveStorageStack(root_ + "/target");
    return !stack.ok() || !stack->in_memory;
  }

  static v1::StartTask Task(int64_t id, const std::string& workload, const std::string& mode = "quick") {
    v1::StartTask task;
    task.set_task_id(id);
    task.set_attempt(1);
    task.set_workload(workload);
    task.set_version(1);
    (*task.mutable_parameters())["mode"].set_text(mode);
    return task;
  }

  static std::vector<std::string> Entries(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  // Children of this process that exist and are not zombies.
  static std::vector<pid_t> Children() {
    std::vector<pid_t> children;
    for (const std::string& name : Entries("/proc")) {
      const pid_t pid = std::atoi(name.c_str());
      if (pid > 0 && ParentOf(pid) == ::getpid()) children.push_back(pid);
    }
    return children;
  }
  static pid_t ParentOf(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    FILE* file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return 0;
    char buffer[512] = {};
    const size_t count = std::fread(buffer, 1, sizeof buffer - 1, file);
    std::fclose(file);
    const std::string text(buffer, count);
    const size_t end = text.rfind(')');
    if (end == std::string::npos || end + 4 > text.size() || text[end + 2] == 'Z') return 0;
    return std::atoi(text.c_str() + end + 4);
  }

  std::string root_;
  v1::AgentConfig config_;
  RecordingListener listener_;
  absl::Duration silence_limit_ = absl::Minutes(5);
  std::unique_ptr<Executor> executor_;
  bool leftovers_expected_ = false;
};

}  // namespace fleetmark::agent
