#include "collector/scheduler/scheduler.h"

#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"

namespace fleetmark::collector {

Scheduler::Scheduler(RunStore& runs, AgentRegistry& registry, std::string collector_id, SchedulerOptions options)
    : runs_(runs), registry_(registry), collector_id_(std::move(collector_id)), options_(options) {}

Scheduler::~Scheduler() { assert(!thread_.joinable()); }

void Scheduler::Start() {
  thread_ = std::thread([this] {
    SetThreadName("scheduler");
    Run();
  });
}

void Scheduler::Shutdown() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Scheduler::Wake(const HostId& host) {
  MutexLock lock(mutex_);
  woken_.insert(host);
  changed_.NotifyAll();
}

void Scheduler::ReleaseHost(const HostId& host) {
  MutexLock lock(mutex_);
  held_until_.erase(host);
  woken_.insert(host);
  changed_.NotifyAll();
}

void Scheduler::WakeAll() {
  MutexLock lock(mutex_);
  all_ = true;
  changed_.NotifyAll();
}

void Scheduler::HoldHost(const HostId& host, absl::Duration wait) {
  MutexLock lock(mutex_);
  held_until_[host] = absl::Now() + wait;
}

bool Scheduler::IsHeld(const HostId& host) {
  MutexLock lock(mutex_);
  const auto found = held_until_.find(host);
  if (found == held_until_.end()) return false;
  if (absl::Now() < found->second) return true;
  held_until_.erase(found);
  return false;
}

void Scheduler::Run() {
  absl::Time next_sweep = absl::InfinitePast();
  absl::Time next_give_up = absl::Now() + options_.give_up_every;
  bool failing = false;
  for (;;) {
    std::vector<HostId> hosts;
    bool sweep = false;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && !all_ && woken_.empty()) {
        const absl::Duration left = next_sweep - absl::Now();
        if (left <= absl::ZeroDuration()) break;
        changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(left));
      }
      if (stopping_) return;
      sweep = std::exchange(all_, false) || absl::Now() >= next_sweep;
      hosts.assign(woken_.begin(), woken_.end());
      woken_.clear();
    }
    if (sweep) {
      next_sweep = absl::Now() + options_.poll;
      absl::StatusOr<std::vector<HostId>> with_work =
          registry_.size() == 0 ? std::vector<HostId>() : runs_.HostsWithWork(collector_id_);
      if (with_work.ok()) {
        failing = false;
        hosts.insert(hosts.end(), with_work->begin(), with_work->end());
      } else if (!std::exchange(failing, true)) {
        LogWarning("scheduler", std::string(with_work.status().message()));
      }
    }
    for (const HostId& host : hosts) {
      const absl::Status status = Serve(host);
      if (!status.ok() && !failing) {
        LogWarning("scheduler", absl::StrCat("look for tasks of host ", host, ": ", std::string(status.message())));
      }
      failing = !status.ok();
      if (failing && status.code() == absl::StatusCode::kUnavailable) break;  // the others would only wait as well
      MutexLock lock(mutex_);
      if (stopping_) return;
    }
    if (absl::Now() >= next_give_up) {
      next_give_up = absl::Now() + options_.give_up_every;
      GiveUpOverdue();
    }
  }
}

absl::Status Scheduler::Serve(const HostId& host) {
  if (!registry_.Connected(host)) return absl::OkStatus();
  const absl::StatusOr<std::vector<AttemptKey>> cancel = runs_.CancelRequests(host);
  if (!cancel.ok()) return cancel.status();
  for (const AttemptKey& key : *cancel) {
    v1::CollectorMessage message;
    message.mutable_cancel()->set_task_id(key.task);
    message.mutable_cancel()->set_attempt(key.attempt);
    // Not connected any more: the request stays in its row.
    if (!registry_.Send(host, std::move(message)).ok()) return absl::OkStatus();
  }
  if (IsHeld(host)) return absl::OkStatus();
  absl::StatusOr<std::optional<v1::StartTask>> task = runs_.AssignNextTask(host, collector_id_);
  if (!task.ok()) return task.status();
  if (!task->has_value()) return absl::OkStatus();
  v1::CollectorMessage message;
  *message.mutable_start() = **std::move(task);
  const int64_t id = message.start().task_id();
  if (const absl::Status sent = registry_.Send(host, std::move(message)); !sent.ok()) {
    // Assigned, but the agent does not know: the Hello of its next session is compared with the rows.
    LogInfo("scheduler", absl::StrCat("task ", id, " waits: ", std::string(sent.message())));
  }
  return absl::OkStatus();
}

void Scheduler::GiveUpOverdue() {
  const absl::StatusOr<std::vector<RunId>> runs = runs_.GiveUpOverdue();
  if (!runs.ok()) return;  // said by Serve already
  for (const RunId run : *runs) LogWarning("scheduler", absl::StrCat("run ", run, ": its waiting tasks are given up"));
}

}  // namespace fleetmark::collector
