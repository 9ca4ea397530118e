#include "agent/recorder/task_desk.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/executor/exit_reason.h"
#include "agent/inventory/inventory.h"
#include "agent/spool/split.h"
#include "common/log/log.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMostHeld = 64;
constexpr absl::Duration kInventoryForHello = absl::Minutes(1);
constexpr absl::Duration kInventoryWhenIdle = absl::Minutes(10);

std::string NameOf(const v1::StartTask& task) {
  std::string name = absl::StrCat("task ", task.task_id());
  if (task.attempt() > 1) absl::StrAppend(&name, " (attempt ", task.attempt(), ")");
  return name;
}

v1::AgentMessage Accepted(const v1::StartTask& task) {
  v1::AgentMessage message;
  message.mutable_accepted()->set_task_id(task.task_id());
  message.mutable_accepted()->set_attempt(task.attempt());
  return message;
}

v1::AgentMessage Refused(int64_t task_id, uint32_t attempt, const std::string& reason, bool temporary) {
  v1::AgentMessage message;
  v1::TaskRefused& refused = *message.mutable_refused();
  refused.set_task_id(task_id);
  refused.set_attempt(attempt);
  refused.set_reason(CleanUtf8(reason));
  refused.set_temporary(temporary);
  return message;
}

v1::AgentMessage Refused(const v1::StartTask& task, const absl::Status& status, bool temporary) {
  return Refused(task.task_id(), task.attempt(), std::string(status.message()), temporary);
}

v1::AgentMessage RefusedAsCancelled(const TaskKey& key) {
  return Refused(key.first, key.second, "cancelled before it was accepted", /*temporary=*/false);
}

std::optional<SpooledTask> Find(const Spool& spool, int64_t task_id, uint32_t attempt) {
  const absl::StatusOr<std::vector<SpooledTask>> tasks = spool.Tasks();
  if (!tasks.ok()) return std::nullopt;
  for (const SpooledTask& task : *tasks) {
    if (KeyOf(task.start) == TaskKey(task_id, attempt)) return task;
  }
  return std::nullopt;
}

}  // namespace

TaskDesk::TaskDesk(Parts parts)
    : parts_(std::move(parts)), clock_(parts_.clock != nullptr ? *parts_.clock : SystemClock()) {}

void TaskDesk::Connect(Executor& executor, Link& link) {
  executor_ = &executor;
  link_ = &link;
}

void TaskDesk::Replay() {
  const absl::StatusOr<std::vector<SpooledTask>> tasks = parts_.outbox->Tasks();
  if (!tasks.ok()) return;  // the spool says so in its status
  for (const SpooledTask& task : *tasks) {
    if (task.state != v1::UNFINISHED_STATE_QUEUED) continue;
    const absl::Status status = executor_->Submit(task.start);
    if (status.ok()) {
      LogInfo("agent", absl::StrCat(NameOf(task.start), " is queued again: ", task.start.workload()));
      continue;
    }
    LogWarning("agent", absl::StrCat(NameOf(task.start), " is not queued again: ", std::string(status.message())));
    parts_.outbox->IfDiskIsFree([&](Spool& spool) {
      std::vector<v1::Record> records;
      records.push_back(EndRecord(v1::TASK_OUTCOME_FAILED, std::string(status.message())));
      (void)spool.Append(task.start.task_id(), task.start.attempt(), records);
    });
  }
}

void TaskDesk::StopIntake() {
  MutexLock lock(mutex_);
  stopping_ = true;
  held_.clear();  // never accepted: the collector offers them again
}

v1::Record TaskDesk::EndRecord(v1::TaskOutcome outcome, const std::string& reason) const {
  v1::Record record;
  record.set_agent_unix_seconds(absl::ToDoubleSeconds(clock_.Now() - absl::UnixEpoch()));
  record.mutable_finished()->set_outcome(outcome);
  record.mutable_finished()->set_reason(CleanUtf8(reason));
  return record;
}

// ---- from the executor ----

void TaskDesk::OnStart(const v1::StartTask& task) {
  {
    MutexLock lock(mutex_);
    measuring_ = true;
  }
  parts_.outbox->IfDiskIsFree([&](Spool& spool) {
    // Without this line on the disk the task would be queued again after a crash instead of being interrupted.
    const absl::Status status = spool.SetState(task.task_id(), task.attempt(), v1::UNFINISHED_STATE_RUNNING);
    if (!status.ok()) LogWarning("agent", absl::StrCat(NameOf(task), ": ", std::string(status.message())));
  });
  LogInfo("agent", absl::StrCat(NameOf(task), " started: ", EscapeForTerminal(task.workload()),
                                task.target().empty() ? "" : " on ", EscapeForTerminal(task.target())));
}

absl::Status TaskDesk::OnRecords(const v1::StartTask& task, std::vector<v1::Record> records) {
  std::vector<v1::Record> fitting;
  for (v1::Record& record : records) {
    for (v1::Record& part : SplitToFit(std::move(record))) fitting.push_back(std::move(part));
  }
  const bool ends = !fitting.empty() && fitting.back().has_finished();
  parts_.outbox->OpenGap();
  const absl::Status status = parts_.outbox->Append(task.task_id(), task.attempt(), fitting);
  TakeHeld();
  // The first record comes just before the worker starts: until then (waiting for a quiet machine may take minutes) and
  // after the last one the disk is free.
  if (ends) {
    parts_.outbox->EndTask();
  } else {
    parts_.outbox->BeginTask();
  }
  parts_.outbox->CloseGap();
  if (status.ok()) {
    link_->RecordsAvailable();
    return status;
  }
  LogError("agent", absl::StrCat(NameOf(task), ": results could not be kept: ", std::string(status.message())));
  if (ends) {
    MutexLock lock(mutex_);
    unwritten_.emplace_back(task, fitting.back());
  }
  return status;
}

void TaskDesk::OnProgress(const v1::Progress& progress) { link_->OfferProgress(progress); }

void TaskDesk::OnEnd(const v1::StartTask& task, const v1::TaskFinished& finished) {
  parts_.outbox->EndTask();
  {
    MutexLock lock(mutex_);
    measuring_ = false;
  }
  link_->EndProgress(task.task_id(), task.attempt());
  TakeHeld();
  link_->RecordsAvailable();
  LogInfo("agent", absl::StrCat(NameOf(task), " ", std::string(OutcomeName(finished.outcome())),
                                finished.reason().empty() ? "" : ": ", EscapeForTerminal(finished.reason())));
}

// ---- from the link ----

v1::Hello TaskDesk::MakeHello() {
  bool measuring = false;
  {
    MutexLock lock(mutex_);
    measuring = measuring_;
  }
  if (!measuring && InventoryAge() > kInventoryForHello) TakeInventory();

  v1::Hello hello = parts_.greeting;
  {
    MutexLock lock(mutex_);
    *hello.mutable_inventory() = inventory_;
  }
  *hello.mutable_status() = parts_.outbox->Status();
  std::vector<TaskKey> interrupted;
  const absl::StatusOr<std::vector<SpooledTask>> tasks = parts_.outbox->Tasks();
  if (!tasks.ok()) {
    hello.set_tasks_unknown(true);  // nothing is disowned for that
    return hello;
  }
  for (const SpooledTask& task : *tasks) {
    if (task.state == v1::UNFINISHED_STATE_INTERRUPTED) {
      interrupted.emplace_back(task.start.task_id(), task.start.attempt());
    }
    v1::UnfinishedTask& unfinished = *hello.add_unfinished();
    unfinished.set_task_id(task.start.task_id());
    unfinished.set_attempt(task.start.attempt());
    unfinished.set_state(task.state);
    unfinished.set_highest_sequence(task.highest_sequence);
  }
  MutexLock lock(mutex_);
  reported_interrupted_ = std::move(interrupted);
  return hello;
}

void TaskDesk::OnWelcome(const v1::Welcome&) {
  std::vector<TaskKey> interrupted;
  bool replay = false;
  {
    MutexLock lock(mutex_);
    interrupted.swap(reported_interrupted_);
    replay = std::exchange(replay_due_, false);
  }
  // The collector welcomes after it has stored what the hello said. One whose records have all arrived is done with;
  // the others go with their last acknowledgement.
  for (const auto& [task_id, attempt] : interrupted) {
    const absl::StatusOr<std::vector<SpooledTask>> tasks = parts_.outbox->Tasks();
    if (!tasks.ok()) break;
    for (const SpooledTask& task : *tasks) {
      if (task.start.task_id() != task_id || task.start.attempt() != attempt) continue;
      if (task.acknowledged_sequence == task.highest_sequence) {
        (void)parts_.outbox->Acknowledge(task_id, attempt, task.highest_sequence);
      }
    }
  }
  if (replay) Replay();
  const v1::AgentStatus status = parts_.outbox->Status();
  if (!status.refuses_tasks_because().empty()) {
    LogWarning("agent", absl::StrCat("no tasks are taken: ", status.refuses_tasks_because()));
  }
}

void TaskDesk::OnStartTask(const v1::StartTask& task) {
  {
    MutexLock lock(mutex_);
    const bool is_held =
        std::any_of(held_.begin(), held_.end(), [&](const v1::StartTask& held) { return KeyOf(held) == KeyOf(task); });
    if (is_held) return;  // it is offered again while nobody answers
    if (stopping_ || held_.size() >= kMostHeld) {
      const std::string reason =
          stopping_ ? "this agent is being stopped" : "too many tasks wait for a repetition's end";
      link_->Send(Refused(task.task_id(), task.attempt(), reason, /*temporary=*/true));
      return;
    }
    held_.push_back(task);
  }
  TakeHeld();
}

// Also called in gaps. What cannot be taken now stays; the next gap or the end of the task comes by here again.
void TaskDesk::TakeHeld() {
  MutexLock intake(intake_mutex_);
  while (true) {
    v1::StartTask task;
    {
      MutexLock lock(mutex_);
      if (held_.empty()) return;
      task = held_.front();
      admitting_ = KeyOf(task);
    }
    v1::AgentMessage answer;
    const bool is_decided = Decide(task, answer);
    bool is_cancelled = false;
    {
      MutexLock lock(mutex_);
      admitting_.reset();
      is_cancelled = std::exchange(admitting_is_cancelled_, false);
      if (is_decided || is_cancelled) {
        std::erase_if(held_, [&](const v1::StartTask& held) { return KeyOf(held) == KeyOf(task); });
      }
    }
    if (!is_decided) {
      if (is_cancelled) link_->Send(RefusedAsCancelled(KeyOf(task)));
      return;
    }
    if (answer.has_refused()) {
      LogWarning("agent", absl::StrCat(NameOf(task), " refused: ", EscapeForTerminal(answer.refused().reason())));
    }
    link_->Send(std::move(answer));
    if (is_cancelled) executor_->Cancel(task.task_id(), task.attempt());
  }
}

bool TaskDesk::Decide(const v1::StartTask& task, v1::AgentMessage& answer) {
  // Looking at the target may take long on a sick disk: not while a task's begin would have to wait for it.
  if (!parts_.outbox->IfDiskIsFree([](Spool&) {})) return false;
  const absl::Status valid = parts_.validate(task);
  bool submit = false;
  if (!parts_.outbox->IfDiskIsFree([&](Spool& spool) { submit = Admit(spool, task, valid, answer); })) return false;
  if (submit) Submit(task, answer);
  return true;
}

bool TaskDesk::Admit(Spool& spool, const v1::StartTask& task, const absl::Status& valid, v1::AgentMessage& answer) {
  answer = Accepted(task);
  if (const std::optional<SpooledTask> known = Find(spool, task.task_id(), task.attempt())) {
    if (known->state == v1::UNFINISHED_STATE_INTERRUPTED) {
      // The collector has not taken notice of the hello: say it once more, in the way that is stored.
      std::vector<v1::Record> records;
      records.push_back(EndRecord(v1::TASK_OUTCOME_INTERRUPTED, "the agent ended while the task was running"));
      (void)spool.Append(task.task_id(), task.attempt(), records);
    }
    // Twice is no error: queued it may be unknown to the executor, in any other state it is not started again.
    return known->state == v1::UNFINISHED_STATE_QUEUED;
  }
  if (!valid.ok()) {
    answer = Refused(task, valid, /*temporary=*/false);
    return false;
  }
  if (const absl::Status status = spool.AddTask(task); !status.ok()) {
    answer = Refused(task, status, /*temporary=*/true);
    return false;
  }
  return true;
}

void TaskDesk::Submit(const v1::StartTask& task, v1::AgentMessage& answer) {
  const absl::Status status = executor_->Submit(task);
  if (status.ok()) return;
  const bool temporary = absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  answer = Refused(task, status, temporary);
  parts_.outbox->IfDiskIsFree([&](Spool& spool) {
    (void)spool.SetState(task.task_id(), task.attempt(), v1::UNFINISHED_STATE_FINISHED);
    (void)spool.Acknowledge(task.task_id(), task.attempt(), 0);
  });
}

void TaskDesk::OnCancelTask(const v1::CancelTask& cancel) {
  const TaskKey key(cancel.task_id(), cancel.attempt());
  bool was_held = false;
  {
    MutexLock lock(mutex_);
    if (admitting_ == key) {
      admitting_is_cancelled_ = true;  // TakeHeld does the rest
      return;
    }
    was_held = std::erase_if(held_, [&](const v1::StartTask& held) { return KeyOf(held) == key; }) > 0;
  }
  if (was_held) {
    link_->Send(RefusedAsCancelled(key));
    return;
  }
  executor_->Cancel(cancel.task_id(), cancel.attempt());
  // The offer of a task that is not here went to a former session. The collector asks again while it has no answer, so
  // the disk that is being measured can be left alone.
  bool is_unknown = false;
  parts_.outbox->IfDiskIsFree([&](Spool& spool) {
    const absl::StatusOr<std::vector<SpooledTask>> tasks = spool.Tasks();
    is_unknown = tasks.ok() && std::none_of(tasks->begin(), tasks->end(),
                                            [&](const SpooledTask& task) { return KeyOf(task.start) == key; });
  });
  if (is_unknown) link_->Send(RefusedAsCancelled(key));
}

void TaskDesk::OnRemoved() {
  bool measuring = false;
  {
    MutexLock lock(mutex_);
    held_.clear();
    admitting_is_cancelled_ = admitting_.has_value();
    measuring = measuring_;
  }
  if (measuring) LogWarning("agent", "this host was removed from its fleet: what it measures is cancelled");
  executor_->CancelAll();
}

absl::StatusOr<Spool::Batch> TaskDesk::ReadRecords(uint64_t after_position, size_t max_bytes) {
  return parts_.outbox->Read(after_position, max_bytes);
}

absl::Status TaskDesk::Acknowledge(const v1::Ack& ack) {
  return parts_.outbox->Acknowledge(ack.task_id(), ack.attempt(), ack.sequence());
}

v1::AgentStatus TaskDesk::OnHeartbeat() {
  bool recovered = false;
  parts_.outbox->IfDiskIsFree([&](Spool& spool) {
    const bool was_in_trouble = !spool.Status().refuses_tasks_because().empty();
    if (was_in_trouble) spool.Recover();
    recovered = was_in_trouble && spool.Status().refuses_tasks_because().empty();
    WriteUnwritten(spool);
  });
  if (recovered) {
    LogInfo("agent", "the spool takes tasks again");
    {
      MutexLock lock(mutex_);
      replay_due_ = true;
    }
    // The hello of this connection may have been made without the task list; the collector must see it first.
    link_->StartOver("the spool can be read and written again");
  }
  bool idle = false;
  {
    MutexLock lock(mutex_);
    idle = !measuring_ && !stopping_;
  }
  if (idle && InventoryAge() > kInventoryWhenIdle) TakeInventory();
  TakeHeld();
  return parts_.outbox->Status();
}

void TaskDesk::WriteUnwritten(Spool& spool) {
  MutexLock lock(mutex_);
  std::erase_if(unwritten_, [&](const std::pair<v1::StartTask, v1::Record>& end) {
    std::vector<v1::Record> records = {end.second};
    const absl::Status status = spool.Append(end.first.task_id(), end.first.attempt(), records).status();
    return status.ok() || absl::IsNotFound(status);
  });
}

bool TaskDesk::IfDiskIsFree(const std::function<void()>& work) {
  return parts_.outbox->IfDiskIsFree([&](Spool&) { work(); });
}

// ---- inventory ----

absl::Duration TaskDesk::InventoryAge() const {
  MutexLock lock(mutex_);
  if (inventory_ns_ == 0) return absl::InfiniteDuration();
  return absl::Nanoseconds(clock_.MonotonicNs() - inventory_ns_);
}

v1::Inventory TaskDesk::TakeInventory() {
  v1::Inventory inventory = parts_.take_inventory();
  bool news = false;
  {
    MutexLock lock(mutex_);
    news = inventory_ns_ != 0 && DiffersInSubstance(inventory_, inventory);
    inventory_ = inventory;
    inventory_ns_ = clock_.MonotonicNs();
  }
  if (news && link_ != nullptr) {
    v1::AgentMessage message;
    *message.mutable_inventory() = inventory;
    link_->Send(std::move(message));
  }
  return inventory;
}

}  // namespace fleetmark::agent
