// One task, from its turn to its TaskFinished: waits for the machine, takes the inventory, runs the worker and passes
// on what it says.
//
//   waiting (lock, quiet) -> started -> worker: repetition -> stored -> proceed ... -> finished -> ended
//
// Used once, on the executor's thread; Stop() from any thread.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "agent/config/agent_config.h"
#include "agent/executor/executor.h"
#include "agent/executor/worker_process.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::agent {

// A worker that could not be killed (uninterruptible sleep), and the target it holds.
struct StuckWorker {
  std::unique_ptr<WorkerProcess> process;
  std::string target_path;
  std::string description;  // "pid 123 (disk.profile on /mnt/sd)"
};

class TaskRunner {
 public:
  enum class StopReason { kNone, kCancelled, kShutdown };

  // `dependencies` (complete: no defaults left) outlives it.
  TaskRunner(const Executor::Dependencies& dependencies, v1::StartTask task);

  // Runs all of it, with every call of the listener. A worker that cannot be killed is added to `stuck`.
  void Run(std::vector<StuckWorker>& stuck);

  void Stop(StopReason reason);

  const v1::StartTask& task() const { return task_; }

 private:
  // False: the task is to stop.
  bool WaitForStart();
  bool WaitForQuiet();
  bool Sleep(absl::Duration duration) { return !stop_.WaitFor(duration); }

  absl::Status Prepare(const std::vector<StuckWorker>& stuck);
  absl::Status RecordStart();
  absl::Status RunWorker(std::vector<StuckWorker>& stuck);
  absl::Status StartWorker();
  // Until the worker's pipe ends or it has to be ended.
  absl::Status Pump();
  absl::Status HandleEvent(v1::WorkerEvent& event);
  absl::Status StoreRepetition(v1::Repetition repetition);
  void EndWorker();
  void Reap(std::vector<StuckWorker>& stuck);
  void Conclude(const absl::Status& status);
  void ConcludeExit(const WorkerExit& exit);

  v1::Record NewRecord();
  void ReportWaiting(const std::string& step);
  void SetOutcome(v1::TaskOutcome outcome, std::string reason);

  const Executor::Dependencies& dependencies_;
  const v1::StartTask task_;
  StopSignal stop_;
  std::atomic<StopReason> stop_reason_{StopReason::kNone};

  // Owned by the executor's thread.
  const WorkloadEntry* workload_ = nullptr;
  std::optional<v1::TargetConfig> target_;
  AgentLimits limits_;
  std::optional<v1::Flag> busy_;
  std::unique_ptr<WorkerProcess> worker_;
  std::vector<v1::Record> held_;              // samples, until their repetition comes
  std::optional<v1::TaskFinished> finished_;  // what the worker said, or what is to be said of it
  uint64_t sequence_ = 0;
  uint64_t oom_kills_before_ = 0;
  bool ended_by_us_ = false;
  int64_t last_heard_ns_ = 0;
};

}  // namespace fleetmark::agent
