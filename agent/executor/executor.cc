#include "agent/executor/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/executor/own_image.h"
#include "agent/executor/task_key.h"
#include "agent/executor/task_runner.h"
#include "common/lifecycle/thread_name.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMostQueued = 1000;       // C-181
constexpr size_t kMostRemembered = 10000;  // finished tasks whose repetition is no news
constexpr auto kStuckPause = std::chrono::seconds(10);

class QueueingExecutor : public Executor {
 public:
  explicit QueueingExecutor(Dependencies dependencies) : dependencies_(std::move(dependencies)) {
    if (dependencies_.clock == nullptr) dependencies_.clock = &SystemClock();
    if (dependencies_.workloads == nullptr) dependencies_.workloads = &WorkloadTable();
    if (dependencies_.worker_program.empty()) dependencies_.worker_program = OwnImage();
  }
  ~QueueingExecutor() override {
    if (thread_.joinable()) std::abort();  // Shutdown was not called
  }

  void Start() override {
    thread_ = std::thread([this] { RunThread(); });
  }

  absl::Status Submit(const v1::StartTask& task) override {
    const absl::Status valid = ValidateTask(*dependencies_.config, task, *dependencies_.workloads);
    MutexLock lock(mutex_);
    if (IsKnown(KeyOf(task))) return absl::OkStatus();
    if (!valid.ok()) return valid;
    if (stopping_) return absl::UnavailableError("this agent is being stopped");
    if (queue_.size() >= kMostQueued) {
      return absl::ResourceExhaustedError(absl::StrCat("this agent has ", kMostQueued, " tasks waiting already"));
    }
    queue_.push_back(task);
    changed_.NotifyAll();
    return absl::OkStatus();
  }

  void Cancel(int64_t task_id, uint32_t attempt) override {
    const TaskKey key(task_id, attempt);
    MutexLock lock(mutex_);
    if (running_ != nullptr && KeyOf(running_->task()) == key) running_->Stop(TaskRunner::StopReason::kCancelled);
    for (auto task = queue_.begin(); task != queue_.end(); ++task) {
      if (KeyOf(*task) != key) continue;
      cancelled_.push_back(std::move(*task));
      queue_.erase(task);
      changed_.NotifyAll();
      return;
    }
  }

  void CancelAll() override {
    MutexLock lock(mutex_);
    if (running_ != nullptr) running_->Stop(TaskRunner::StopReason::kCancelled);
    for (v1::StartTask& task : queue_) cancelled_.push_back(std::move(task));
    queue_.clear();
    changed_.NotifyAll();
  }

  std::string Shutdown(absl::Duration deadline) override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      queue_.clear();
      if (running_ != nullptr) running_->Stop(TaskRunner::StopReason::kShutdown);
      changed_.NotifyAll();
      // The runner keeps its own limits (2 s and what the listener takes); the thread is always joined.
      const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(deadline);
      while (running_ != nullptr && std::chrono::steady_clock::now() < end) {
        changed_.WaitFor(mutex_, std::chrono::milliseconds(50));
      }
    }
    if (thread_.joinable()) thread_.join();
    std::string abandoned;
    for (const StuckWorker& worker : stuck_) {
      absl::StrAppend(&abandoned, abandoned.empty() ? "" : ", ", "a worker that cannot be ended: ", worker.description);
    }
    return abandoned;
  }

 private:
  bool IsKnown(const TaskKey& key) const REQUIRES(mutex_) {
    if (running_ != nullptr && KeyOf(running_->task()) == key) return true;
    const auto same = [&](const v1::StartTask& task) { return KeyOf(task) == key; };
    return std::any_of(queue_.begin(), queue_.end(), same) || std::any_of(cancelled_.begin(), cancelled_.end(), same) ||
           std::find(ended_.begin(), ended_.end(), key) != ended_.end();
  }

  void RunThread() {
    SetThreadName("executor");
    while (std::unique_ptr<TaskRunner> runner = NextTask()) {
      runner->Run(stuck_);
      MutexLock lock(mutex_);
      running_ = nullptr;
      ended_.push_back(KeyOf(runner->task()));
      if (ended_.size() > kMostRemembered) ended_.pop_front();
      changed_.NotifyAll();
    }
  }

  // Sleeps until there is one; null when the executor stops. Workers that would not die are looked after meanwhile.
  std::unique_ptr<TaskRunner> NextTask() {
    MutexLock lock(mutex_);
    while (true) {
      std::erase_if(stuck_,
                    [](StuckWorker& worker) { return worker.process->WaitForExit(absl::ZeroDuration()).has_value(); });
      v1::StartTask task;
      if (!cancelled_.empty()) {
        task = std::move(cancelled_.front());
        cancelled_.pop_front();
        auto runner = std::make_unique<TaskRunner>(dependencies_, std::move(task));
        runner->Stop(TaskRunner::StopReason::kCancelled);
        running_ = runner.get();
        return runner;
      }
      if (stopping_) return nullptr;
      if (!queue_.empty()) {
        task = std::move(queue_.front());
        queue_.pop_front();
        auto runner = std::make_unique<TaskRunner>(dependencies_, std::move(task));
        running_ = runner.get();
        return runner;
      }
      if (stuck_.empty()) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitFor(mutex_, kStuckPause);
      }
    }
  }

  Dependencies dependencies_;  // constant after construction
  std::thread thread_;
  std::vector<StuckWorker> stuck_;  // of the thread; of Shutdown once it has joined

  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::StartTask> queue_ GUARDED_BY(mutex_);
  std::deque<v1::StartTask> cancelled_ GUARDED_BY(mutex_);  // before their turn: still to be reported
  std::deque<TaskKey> ended_ GUARDED_BY(mutex_);
  TaskRunner* running_ GUARDED_BY(mutex_) = nullptr;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Executor> Executor::Create(Dependencies dependencies) {
  return std::make_unique<QueueingExecutor>(std::move(dependencies));
}

}  // namespace fleetmark::agent
