// TaskDesk: between link, spool and executor. What the collector asks becomes a task in the spool and then in the
// executor; what a task yields becomes records in the spool and then the link's business.
//
// Nothing is accepted before it is in the spool, and nothing touches the disk inside a timed section: a StartTask that
// comes meanwhile is held in memory until the next gap between two repetitions, or the end of the task.
//
// Owned by the agent (agent/agent.cc). The executor calls it as TaskListener on its thread, the link as LinkListener on
// its own. Start: construct, Connect, Replay, then start executor and link. Stop: StopIntake, then executor, then link.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/connection/link.h"
#include "agent/executor/executor.h"
#include "agent/executor/task_key.h"
#include "agent/spool/outbox.h"
#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark::agent {

class TaskDesk : public TaskListener, public LinkListener {
 public:
  struct Parts {
    Outbox* outbox = nullptr;  // outlives the desk, as do the next two
    const v1::AgentConfig* config = nullptr;
    const Clock* clock = nullptr;                   // default: SystemClock()
    std::function<v1::Inventory()> take_inventory;  // may take seconds
    std::function<absl::Status(const v1::StartTask&)> validate;
    v1::Hello greeting;  // host name, boot, session, version, workloads
  };
  explicit TaskDesk(Parts parts);

  // Both outlive the desk's last call; before either is started.
  void Connect(Executor& executor, Link& link);

  // Queued tasks of the spool go to the executor again; one that the configuration no longer allows is ended.
  void Replay();

  // From now on tasks are refused: the agent is stopping.
  void StopIntake();

  // For the executor: takes the inventory and tells the collector if it changed.
  v1::Inventory TakeInventory();

  // TaskListener.
  void OnStart(const v1::StartTask& task) override;
  absl::Status OnRecords(const v1::StartTask& task, std::vector<v1::Record> records) override;
  void OnProgress(const v1::Progress& progress) override;
  void OnEnd(const v1::StartTask& task, const v1::TaskFinished& finished) override;

  // LinkListener.
  v1::Hello MakeHello() override;
  void OnWelcome(const v1::Welcome& welcome) override;
  void OnDisconnect() override {}
  void OnStartTask(const v1::StartTask& task) override;
  void OnCancelTask(const v1::CancelTask& cancel) override;
  void OnRemoved() override;
  absl::StatusOr<Spool::Batch> ReadRecords(uint64_t after_position, size_t max_bytes) override;
  absl::Status Acknowledge(const v1::Ack& ack) override;
  v1::AgentStatus OnHeartbeat() override;
  bool IfDiskIsFree(const std::function<void()>& work) override;

 private:
  void TakeHeld();
  // Admits or refuses, and says what to answer; false: not now, the disk is being measured.
  bool Decide(const v1::StartTask& task, v1::AgentMessage& answer);
  // Spools the task and says what to answer; true if it should be submitted.
  bool Admit(Spool& spool, const v1::StartTask& task, const absl::Status& valid, v1::AgentMessage& answer);
  void Submit(const v1::StartTask& task, v1::AgentMessage& answer);
  v1::Record EndRecord(v1::TaskOutcome outcome, const std::string& reason) const;
  void WriteUnwritten(Spool& spool);
  absl::Duration InventoryAge() const;

  const Parts parts_;
  const Clock& clock_;
  Executor* executor_ = nullptr;
  Link* link_ = nullptr;

  Mutex intake_mutex_;  // one admits at a time, so that tasks keep their order; taken before mutex_

  mutable Mutex mutex_;
  std::deque<v1::StartTask> held_ GUARDED_BY(mutex_);    // arrived inside a timed section
  std::optional<TaskKey> admitting_ GUARDED_BY(mutex_);  // the one of held_ that is being looked at
  bool admitting_is_cancelled_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool measuring_ GUARDED_BY(mutex_) = false;
  bool replay_due_ GUARDED_BY(mutex_) = false;                    // the spool came back: after the next welcome
  std::vector<TaskKey> reported_interrupted_ GUARDED_BY(mutex_);  // by the last hello
  v1::Inventory inventory_ GUARDED_BY(mutex_);
  int64_t inventory_ns_ GUARDED_BY(mutex_) = 0;  // 0: never taken
  // Ends that the disk would not take; written when it takes them again.
  std::vector<std::pair<v1::StartTask, v1::Record>> unwritten_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::agent
