// Executor: runs tasks one at a time, each in a worker process of its own, and turns what the worker says into records.
//
// Owned by the agent (or by `fleetmark-agent run`). Submit, Cancel and Shutdown may be called from any thread; the
// listener is called on the executor's own thread ("executor"), never with a lock held. Start order: construct, Start,
// Submit...; stop: Shutdown cancels what runs (worker gone within 2 s, scratch removed) and joins the thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/workloads/workload.h"
#include "common/time/clock.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/config.pb.h"
#include "fleetmark/v1/inventory.pb.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// What comes out of a task. Records arrive in order: started, then repetitions and samples, then finished.
class TaskListener {
 public:
  virtual ~TaskListener() = default;

  // The task leaves the queue and begins.
  virtual void OnStart(const v1::StartTask& task) = 0;

  // Between timed sections: the worker waits until this returns, so it may write durably. An error ends the task as
  // failed with that reason.
  virtual absl::Status OnRecords(const v1::StartTask& task, std::vector<v1::Record> records) = 0;

  // At any time, at most 5 a second; must return at once (no disk, no blocking).
  virtual void OnProgress(const v1::Progress& progress) = 0;

  // After OnRecords has taken the task's TaskFinished.
  virtual void OnEnd(const v1::StartTask& task, const v1::TaskFinished& finished) = 0;
};

class Executor {
 public:
  struct Dependencies {
    const v1::AgentConfig* config = nullptr;                // outlives the executor
    std::function<v1::Inventory()> take_inventory;          // called on the executor's thread before a task
    std::string state_directory;                            // manifests of scratch live in <state>/manifests
    TaskListener* listener = nullptr;                       // outlives the executor
    const Clock* clock = nullptr;                           // default: SystemClock()
    const std::vector<WorkloadEntry>* workloads = nullptr;  // default: WorkloadTable()
    std::string worker_program;                             // default: the image RememberOwnImage() has seen
    absl::Duration silence_limit = absl::Minutes(10);       // a worker that says nothing for so long hangs
    std::string lock_directory;                             // of the host-wide lock; default: where all agents look
  };

  static std::unique_ptr<Executor> Create(Dependencies dependencies);
  virtual ~Executor() = default;  // REQUIRES: Shutdown was called, or Start was not

  virtual void Start() = 0;

  // Checks the task against configuration and workload table (see ValidateTask) and queues it; the same task and
  // attempt twice is no error and changes nothing.
  virtual absl::Status Submit(const v1::StartTask& task) = 0;

  // Ends it wherever it is: queued (reported cancelled), or running (worker gone within 2 s). Unknown: no effect.
  virtual void Cancel(int64_t task_id, uint32_t attempt) = 0;

  // Cancel for every task there is, running or queued.
  virtual void CancelAll() = 0;

  // Ends what runs, waits until `deadline` has passed, says what it abandoned ("" = nothing). The task it ends is
  // reported as interrupted, so that another attempt can be made; queued ones are dropped without a word: they have not
  // begun, and whoever queued them still has them. Idempotent.
  virtual std::string Shutdown(absl::Duration deadline) = 0;
};

// What the agent's own configuration and table allow: workload known and allowed, parameters valid, target named, its
// path usable (exists, directory, writable, not in memory), ceilings kept. The error names the line that would allow
// it.
absl::Status ValidateTask(const v1::AgentConfig& config, const v1::StartTask& task,
                          const std::vector<WorkloadEntry>& workloads = WorkloadTable());

// Removes the scratch that manifests in <state>/manifests name and nothing else; manifests of live workers are left
// alone. Returns what it removed, a line each. Call at the start of the agent and before each task.
std::vector<std::string> SweepScratch(const std::string& state_directory);

}  // namespace fleetmark::agent
