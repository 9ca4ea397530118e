#include "agent/executor/task_runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/executor/exit_reason.h"
#include "agent/executor/host_lock.h"
#include "agent/platform/usage.h"
#include "agent/worker/manifest.h"
#include "common/log/log.h"
#include "common/parameters/parameters.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr double kDefaultQuietWait = 30;                   // seconds
constexpr absl::Duration kQuietWindow = absl::Seconds(1);  // of one look at the machine
constexpr absl::Duration kLockPoll = absl::Milliseconds(200);
constexpr absl::Duration kLatestStart = absl::Minutes(10);         // how far off a common start may be
constexpr absl::Duration kCancelGrace = absl::Milliseconds(1500);  // for the worker to end by itself
constexpr absl::Duration kKillGrace = absl::Milliseconds(400);
constexpr absl::Duration kReapPause = absl::Milliseconds(20);
constexpr absl::Duration kDeadlineGrace = absl::Seconds(5);  // the worker keeps its own deadline first

v1::WorkerControl Proceed() {
  v1::WorkerControl control;
  control.mutable_proceed();
  return control;
}

v1::WorkerControl Cancel() {
  v1::WorkerControl control;
  control.mutable_cancel();
  return control;
}

int PollTimeout(absl::Duration left) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 3'600'000));
}

}  // namespace

TaskRunner::TaskRunner(const Executor::Dependencies& dependencies, v1::StartTask task)
    : dependencies_(dependencies), task_(std::move(task)) {}

void TaskRunner::Stop(StopReason reason) {
  StopReason none = StopReason::kNone;
  stop_reason_.compare_exchange_strong(none, reason);
  stop_.Request();
}

v1::Record TaskRunner::NewRecord() {
  v1::Record record;
  record.mutable_id()->set_task_id(task_.task_id());
  record.mutable_id()->set_attempt(task_.attempt());
  record.mutable_id()->set_sequence(++sequence_);
  record.set_agent_unix_seconds(absl::ToDoubleSeconds(dependencies_.clock->Now() - absl::UnixEpoch()));
  return record;
}

void TaskRunner::SetOutcome(v1::TaskOutcome outcome, std::string reason) {
  if (!finished_.has_value()) finished_.emplace();
  finished_->set_outcome(outcome);
  finished_->set_reason(std::move(reason));
}

void TaskRunner::Run(std::vector<StuckWorker>& stuck) {
  dependencies_.listener->OnStart(task_);
  for (const std::string& line : SweepScratch(dependencies_.state_directory)) LogInfo("executor", line);
  absl::Status status = Prepare(stuck);
  if (status.ok()) {
    HostLock lock(dependencies_.lock_directory);
    const bool needs_host = workload_->descriptor.needs_target() || workload_->descriptor.needs_quiet_machine();
    while (needs_host && !lock.TryAcquire() && Sleep(kLockPoll)) {
      ReportWaiting("another agent measures on this machine");
    }
    if (WaitForStart() && WaitForQuiet()) status = RecordStart();
    if (status.ok() && !stop_.requested()) status = RunWorker(stuck);
  }
  Conclude(status);
}

absl::Status TaskRunner::Prepare(const std::vector<StuckWorker>& stuck) {
  const absl::Status valid = ValidateTask(*dependencies_.config, task_, *dependencies_.workloads);
  if (!valid.ok()) return valid;
  workload_ = *FindWorkload(*dependencies_.workloads, task_.workload(), task_.version());
  limits_ = *LimitsOf(*dependencies_.config);
  if (!workload_->descriptor.needs_target()) return absl::OkStatus();
  target_ = *FindTarget(*dependencies_.config, task_.target());
  for (const StuckWorker& worker : stuck) {
    if (worker.target_path == target_->path()) {
      return absl::UnavailableError(absl::StrCat("target \"", target_->name(), "\" is held by a worker that cannot be ",
                                                 "ended: ", worker.description,
                                                 "; the device has to answer, or the machine to be restarted"));
    }
  }
  return absl::OkStatus();
}

void TaskRunner::ReportWaiting(const std::string& step) {
  v1::Progress progress;
  progress.set_task_id(task_.task_id());
  progress.set_attempt(task_.attempt());
  progress.set_phase(v1::PHASE_WAITING);
  progress.set_step(step);
  dependencies_.listener->OnProgress(progress);
}

bool TaskRunner::WaitForStart() {
  if (stop_.requested()) return false;
  if (!task_.has_start_at_unix_seconds()) return true;
  const absl::Time start = absl::UnixEpoch() + absl::Seconds(task_.start_at_unix_seconds());
  const absl::Duration wait = std::min(start - dependencies_.clock->Now(), kLatestStart);
  if (wait <= absl::ZeroDuration()) return true;
  ReportWaiting("for the common start");
  return Sleep(wait);
}

// Bounded; then it goes on, and every repetition says what was busy (C-022).
bool TaskRunner::WaitForQuiet() {
  if (!workload_->descriptor.needs_quiet_machine()) return true;
  const absl::Duration bound =
      absl::Seconds(task_.has_quiet_wait_seconds() ? task_.quiet_wait_seconds() : kDefaultQuietWait);
  QuietProbe probe(target_.has_value() ? target_->path() : std::string());
  absl::Duration waited;
  while (true) {
    if (!Sleep(kQuietWindow)) return false;
    waited += kQuietWindow;
    const std::optional<std::string> busy = probe.Busy();
    if (!busy.has_value()) return true;
    if (waited >= bound) {
      busy_.emplace();
      busy_->set_name("busy");
      busy_->set_evidence(CleanUtf8(*busy));
      return true;
    }
    ReportWaiting(absl::StrCat("for a quiet machine: ", *busy));
  }
}

absl::Status TaskRunner::RecordStart() {
  v1::Record record = NewRecord();
  v1::TaskStarted& started = *record.mutable_started();
  started.set_workload(workload_->descriptor.name());
  started.set_version(workload_->descriptor.version());
  const ParameterMap given(task_.parameters().begin(), task_.parameters().end());
  const absl::StatusOr<ParameterMap> parameters = fleetmark::ResolveParameters(workload_->descriptor, given);
  if (!parameters.ok()) return parameters.status();
  for (const v1::ParameterDescriptor& parameter : workload_->descriptor.parameters()) {
    const auto found = parameters->find(parameter.name());
    if (found == parameters->end()) continue;
    auto& values = parameter.role() == v1::PARAMETER_ROLE_DERIVED ? *started.mutable_derived_parameters()
                                                                  : *started.mutable_identity_parameters();
    values[parameter.name()] = found->second;
  }
  if (dependencies_.take_inventory) *started.mutable_inventory() = dependencies_.take_inventory();
  if (target_.has_value()) {
    for (const v1::Target& target : started.inventory().targets()) {
      if (target.name() == target_->name()) *started.mutable_target() = target;
    }
    if (!started.has_target()) {
      started.mutable_target()->set_name(target_->name());
      started.mutable_target()->set_path(target_->path());
    }
  }
  return dependencies_.listener->OnRecords(task_, {std::move(record)});
}

absl::Status TaskRunner::StartWorker() {
  const std::string manifests = absl::StrCat(dependencies_.state_directory, "/manifests");
  if (workload_->descriptor.writes() && ::mkdir(manifests.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat("make ", manifests, ": ", strerror(errno), "; the state directory must exist and be writable"));
  }
  oom_kills_before_ = ReadOomKills();
  absl::StatusOr<std::unique_ptr<WorkerProcess>> spawned =
      WorkerProcess::Spawn(dependencies_.worker_program, workload_->descriptor.name());
  if (!spawned.ok()) return spawned.status();
  worker_ = *std::move(spawned);

  v1::WorkerControl control;
  v1::WorkerStart& start = *control.mutable_start();
  // A collector's tasks have positive ids; those of `fleetmark-agent run` are told from them by name.
  const std::string id = task_.task_id() < 0 ? absl::StrCat("local", task_.task_id(), "-", task_.attempt())
                                             : absl::StrCat(task_.task_id(), "-", task_.attempt());
  start.set_workload(workload_->descriptor.name());
  start.set_version(workload_->descriptor.version());
  *start.mutable_parameters() = task_.parameters();
  *start.mutable_repetition_rule() = task_.repetition_rule();
  if (target_.has_value()) {
    start.set_target_name(target_->name());
    start.set_target_path(target_->path());
  }
  if (workload_->descriptor.writes()) {
    start.set_scratch_directory_name(absl::StrCat("fleetmark-", id, ".scratch"));
    start.set_manifest_path(absl::StrCat(manifests, "/", id, kManifestSuffix));
  }
  start.set_deadline_seconds(absl::ToDoubleSeconds(limits_.max_duration));
  if (limits_.min_free_bytes.has_value()) start.set_min_free_bytes(*limits_.min_free_bytes);
  if (limits_.max_bytes.has_value()) start.set_max_bytes(*limits_.max_bytes);
  if (limits_.max_threads > 0) start.set_max_threads(limits_.max_threads);
  start.set_allow_cache_drop(dependencies_.config->allow_cache_drop());
  // A worker that has died already is reported by how it died, not by the pipe.
  worker_->Send(control).IgnoreError();
  return absl::OkStatus();
}

absl::Status TaskRunner::RunWorker(std::vector<StuckWorker>& stuck) {
  absl::Status status = StartWorker();
  if (!status.ok()) return status;
  status = Pump();
  EndWorker();
  Reap(stuck);
  for (const std::string& line : SweepScratch(dependencies_.state_directory)) LogInfo("executor", line);
  return status;
}

// Sleeps in poll: while the worker measures, the agent wakes for its progress and nothing else.
absl::Status TaskRunner::Pump() {
  last_heard_ns_ = SystemClock().MonotonicNs();
  const int64_t begin_ns = last_heard_ns_;
  const absl::Duration deadline = limits_.max_duration + kDeadlineGrace;
  while (worker_->event_fd() >= 0) {
    if (stop_.requested()) return absl::CancelledError("cancelled");
    const int64_t now_ns = SystemClock().MonotonicNs();
    const absl::Duration until_deadline = deadline - absl::Nanoseconds(now_ns - begin_ns);
    const absl::Duration until_silence = dependencies_.silence_limit - absl::Nanoseconds(now_ns - last_heard_ns_);
    if (until_deadline <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat("the worker of ", workload_->descriptor.name(),
                                                      " did not end within ", FormatTimeSpan(limits_.max_duration),
                                                      DescribeState(worker_->pid())));
    }
    if (until_silence <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("the worker of ", workload_->descriptor.name(), " hangs: not a word for ",
                       FormatTimeSpan(dependencies_.silence_limit), DescribeState(worker_->pid())));
    }
    pollfd fds[3] = {{worker_->event_fd(), POLLIN, 0}, {worker_->error_fd(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
    if (::poll(fds, 3, PollTimeout(std::min(until_deadline, until_silence))) <= 0) continue;
    if (fds[1].revents != 0) worker_->ReadErrors();
    if (fds[0].revents == 0) continue;
    last_heard_ns_ = SystemClock().MonotonicNs();
    worker_->ReadEvents();
    v1::WorkerEvent event;
    while (true) {
      const absl::StatusOr<bool> complete = worker_->NextEvent(event);
      if (!complete.ok()) return complete.status();
      if (!*complete) break;
      const absl::Status handled = HandleEvent(event);
      if (!handled.ok()) return handled;
      if (finished_.has_value()) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status TaskRunner::HandleEvent(v1::WorkerEvent& event) {
  switch (event.kind_case()) {
    case v1::WorkerEvent::kProgress: {
      event.mutable_progress()->set_task_id(task_.task_id());
      event.mutable_progress()->set_attempt(task_.attempt());
      dependencies_.listener->OnProgress(event.progress());
      return absl::OkStatus();
    }
    case v1::WorkerEvent::kSamples: {
      held_.push_back(NewRecord());
      held_.back().mutable_samples()->Swap(event.mutable_samples());
      return absl::OkStatus();
    }
    case v1::WorkerEvent::kRepetition:
      return StoreRepetition(std::move(*event.mutable_repetition()));
    case v1::WorkerEvent::kFinished:
      finished_ = std::move(*event.mutable_finished());
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

absl::Status TaskRunner::StoreRepetition(v1::Repetition repetition) {
  if (busy_.has_value()) *repetition.add_flags() = *busy_;
  held_.push_back(NewRecord());
  *held_.back().mutable_repetition() = std::move(repetition);
  const absl::Status stored = dependencies_.listener->OnRecords(task_, std::exchange(held_, {}));
  if (!stored.ok()) return stored;
  worker_->Send(Proceed()).IgnoreError();
  return absl::OkStatus();
}

// Asks, then kills. The worker of a finished task has nothing more to do and goes at once.
void TaskRunner::EndWorker() {
  if (worker_->event_fd() < 0 && worker_->WaitForExit(kKillGrace).has_value()) return;
  if (!finished_.has_value()) {
    ended_by_us_ = true;
    worker_->Send(Cancel()).IgnoreError();
  }
  const int64_t begin_ns = SystemClock().MonotonicNs();
  while (!worker_->WaitForExit(worker_->event_fd() < 0 ? kReapPause : absl::ZeroDuration()).has_value()) {
    const absl::Duration left = kCancelGrace - absl::Nanoseconds(SystemClock().MonotonicNs() - begin_ns);
    if (left <= absl::ZeroDuration()) break;
    // Its last events are taken in, or it could block on a full pipe; repetitions among them come too late.
    pollfd fds[2] = {{worker_->event_fd(), POLLIN, 0}, {worker_->error_fd(), POLLIN, 0}};
    ::poll(fds, 2, PollTimeout(std::min(left, kReapPause)));
    if (fds[1].revents != 0) worker_->ReadErrors();
    if (fds[0].revents == 0) continue;
    worker_->ReadEvents();
    v1::WorkerEvent event;
    for (absl::StatusOr<bool> complete = worker_->NextEvent(event); complete.ok() && *complete;
         complete = worker_->NextEvent(event)) {
      if (event.has_finished() && !finished_.has_value()) finished_ = std::move(*event.mutable_finished());
    }
  }
  if (!worker_->WaitForExit(absl::ZeroDuration()).has_value()) {
    ended_by_us_ = true;
    worker_->Signal(SIGKILL);
  }
}

void TaskRunner::Reap(std::vector<StuckWorker>& stuck) {
  const std::optional<WorkerExit> exit = worker_->WaitForExit(kKillGrace);
  while (worker_->error_fd() >= 0 && exit.has_value()) worker_->ReadErrors();
  if (exit.has_value()) {
    ConcludeExit(*exit);
    return;
  }
  // C-097: not even SIGKILL ends it. The agent goes on; that target does not.
  const std::string description =
      absl::StrCat("pid ", worker_->pid(), " (", workload_->descriptor.name(),
                   target_.has_value() ? absl::StrCat(" on ", target_->path()) : std::string(), ")");
  finished_.reset();
  SetOutcome(v1::TASK_OUTCOME_FAILED,
             absl::StrCat("stuck(D): the worker, ", description, ", cannot be ended", DescribeState(worker_->pid()),
                          "; the device or network file system does not answer"));
  worker_->Abandon();
  stuck.push_back({std::move(worker_), target_.has_value() ? target_->path() : std::string(), description});
}

void TaskRunner::ConcludeExit(const WorkerExit& exit) {
  if (finished_.has_value()) return;
  if (ended_by_us_) {
    SetOutcome(v1::TASK_OUTCOME_CANCELLED, "cancelled");
  } else {
    const bool oom = exit.signal == SIGKILL && ReadOomKills() > oom_kills_before_;
    SetOutcome(v1::TASK_OUTCOME_FAILED, DescribeExit(exit, oom, worker_->last_words()));
  }
  if (exit.code.has_value()) finished_->set_worker_exit_code(*exit.code);
  if (exit.signal.has_value()) finished_->set_worker_signal(*exit.signal);
}

void TaskRunner::Conclude(const absl::Status& status) {
  const StopReason stop = stop_reason_.load();
  const bool is_stuck = finished_.has_value() && finished_->reason().starts_with("stuck(");
  if (is_stuck) {
    // said already
  } else if (stop == StopReason::kNone && !ended_by_us_ && finished_.has_value() &&
             finished_->outcome() == v1::TASK_OUTCOME_CANCELLED) {
    SetOutcome(v1::TASK_OUTCOME_INTERRUPTED, "its worker was told to end by a signal that did not come from the agent");
  } else if (stop != StopReason::kNone &&
             (!finished_.has_value() || finished_->outcome() != v1::TASK_OUTCOME_SUCCEEDED)) {
    if (stop == StopReason::kShutdown) {
      SetOutcome(v1::TASK_OUTCOME_INTERRUPTED, "the agent was stopped");
    } else {
      SetOutcome(v1::TASK_OUTCOME_CANCELLED, "cancelled");
    }
  } else if (!status.ok()) {
    SetOutcome(IsSkipped(status) ? v1::TASK_OUTCOME_SKIPPED : v1::TASK_OUTCOME_FAILED,
               CleanUtf8(std::string(status.message())));
  } else if (!finished_.has_value()) {
    SetOutcome(v1::TASK_OUTCOME_CANCELLED, "cancelled");
  }
  if (busy_.has_value()) *finished_->add_flags() = *busy_;

  std::vector<v1::Record> records = std::exchange(held_, {});
  if (sequence_ == 0) {
    records.push_back(NewRecord());
    records.back().mutable_started()->set_workload(task_.workload());
    records.back().mutable_started()->set_version(task_.version());
  }
  records.push_back(NewRecord());
  *records.back().mutable_finished() = *finished_;
  const absl::Status stored = dependencies_.listener->OnRecords(task_, std::move(records));
  if (!stored.ok())
    LogError("executor", absl::StrCat("the end of task ", task_.task_id(),
                                      " could not be stored: ", std::string(stored.message())));
  dependencies_.listener->OnEnd(task_, *finished_);
}

}  // namespace fleetmark::agent
