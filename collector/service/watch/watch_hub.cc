#include "collector/service/watch/watch_hub.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/service/present/present.h"
#include "common/lifecycle/thread_name.h"

namespace fleetmark::collector {
namespace {

// What a watcher has to be told about: everything but progress, which goes its own way.
std::string StateOf(const v1::Run& run) {
  v1::Run state = run;
  for (v1::Task& task : *state.mutable_tasks()) task.clear_progress();
  return state.SerializeAsString();
}

}  // namespace

bool IsOver(v1::RunState state) {
  return state == v1::RUN_STATE_SUCCEEDED || state == v1::RUN_STATE_PARTIAL || state == v1::RUN_STATE_FAILED ||
         state == v1::RUN_STATE_CANCELLED;
}

WatchHub::WatchHub(RunStore& runs, AgentRegistry& registry, std::string collector_id, WatchOptions options)
    : runs_(runs), registry_(registry), collector_id_(std::move(collector_id)), options_(options) {}

WatchHub::~WatchHub() { assert(!thread_.joinable()); }

void WatchHub::Start() {
  thread_ = std::thread([this] {
    SetThreadName("watch");
    Run();
  });
}

void WatchHub::Shutdown() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  Watchers all;
  {
    MutexLock lock(mutex_);
    for (auto& [run, watched] : watched_) {
      for (auto* list : {&watched.watchers, &watched.fresh}) {
        const Watchers live = Live(*list);
        all.insert(all.end(), live.begin(), live.end());
      }
    }
    watched_.clear();
  }
  for (const auto& watcher : all) watcher->OnError(absl::UnavailableError("the collector is stopping; watch again"));
}

void WatchHub::Add(RunId run, const std::shared_ptr<RunWatcher>& watcher) {
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    if (!stopping) {
      Watched& watched = watched_[run];
      watched.fresh.push_back(watcher);
      watched.dirty = true;
      work_ = true;
      changed_.NotifyAll();
    }
  }
  if (stopping) watcher->OnError(absl::UnavailableError("the collector is stopping; watch again"));
}

void WatchHub::RunChanged(RunId run) {
  MutexLock lock(mutex_);
  if (run == 0) {
    for (auto& [id, watched] : watched_) watched.dirty = work_ = true;
  } else if (const auto found = watched_.find(run); found != watched_.end()) {
    found->second.dirty = work_ = true;
  }
  if (work_) changed_.NotifyAll();
}

void WatchHub::Progress(const HostId& host, const v1::Progress& progress) {
  Watchers watchers;
  {
    MutexLock lock(mutex_);
    const auto task = tasks_.find(progress.task_id());
    if (task != tasks_.end() && task->second.host != host) return;  // not this host's to speak of
    Active& active = active_[host];
    const bool is_same = active.progress.task_id() == progress.task_id();
    if (is_same && active.progress.attempt() > progress.attempt()) return;
    active.progress = progress;
    active.arrived = absl::Now();
    active.unpublished = true;
    if (task == tasks_.end()) return;
    if (const auto found = watched_.find(task->second.run); found != watched_.end()) {
      watchers = Live(found->second.watchers);
    }
  }
  for (const auto& watcher : watchers) watcher->OnProgress(progress);
}

WatchHub::Watchers WatchHub::Live(std::vector<std::weak_ptr<RunWatcher>>& watchers) {
  Watchers live;
  std::erase_if(watchers, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : watchers) {
    if (auto watcher = weak.lock()) live.push_back(std::move(watcher));
  }
  return live;
}

void WatchHub::Run() {
  absl::Time next_exchange = absl::Now() + options_.exchange;
  for (;;) {
    std::vector<RunId> due;
    {
      MutexLock lock(mutex_);
      if (!stopping_ && !work_ && absl::Now() < next_exchange) {
        changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(next_exchange - absl::Now()));
      }
      if (stopping_) return;
      work_ = false;
      const absl::Time now = absl::Now();
      for (auto& [run, watched] : watched_) {
        if (watched.dirty || now - watched.looked >= options_.poll) due.push_back(run);
      }
    }
    for (const RunId run : due) LookAt(run, absl::Now());
    if (absl::Now() >= next_exchange) {
      Exchange(absl::Now());
      next_exchange = absl::Now() + options_.exchange;
    }
  }
}

void WatchHub::LookAt(RunId run_id, absl::Time now) {
  {
    MutexLock lock(mutex_);
    const auto found = watched_.find(run_id);
    if (found == watched_.end()) return;
    if (Live(found->second.watchers).empty() && Live(found->second.fresh).empty()) {
      watched_.erase(found);
      std::erase_if(tasks_, [&](const auto& entry) { return entry.second.run == run_id; });
      return;
    }
    // Cleared before the rows are read: a change in between makes it dirty again.
    found->second.dirty = false;
    found->second.looked = now;
  }
  absl::StatusOr<v1::Run> run = runs_.GetRun(run_id);
  if (run.ok()) DescribeRun(*run);
  Watchers fresh, known;
  std::shared_ptr<const v1::Run> shared;
  {
    MutexLock lock(mutex_);
    const auto found = watched_.find(run_id);
    if (found == watched_.end()) return;
    Watched& watched = found->second;
    if (!run.ok()) {
      // All wait until the database is back; who has not seen the run yet is told then, also if it has not changed.
      if (run.status().code() == absl::StatusCode::kUnavailable) return;
      fresh = Live(watched.fresh);
      known = Live(watched.watchers);
      watched_.erase(found);
    } else {
      for (const v1::Task& task : run->tasks()) tasks_[task.id()] = {run_id, task.host_id()};
      std::string state = StateOf(*run);
      fresh = Live(watched.fresh);
      if (state != watched.seen) known = Live(watched.watchers);
      watched.seen = std::move(state);
      watched.watchers.insert(watched.watchers.end(), watched.fresh.begin(), watched.fresh.end());
      watched.fresh.clear();
      shared = std::make_shared<const v1::Run>(*run);
      watched.run = shared;
      if (IsOver(run->state())) {
        watched_.erase(found);
        std::erase_if(tasks_, [&](const auto& entry) { return entry.second.run == run_id; });
      }
    }
  }
  fresh.insert(fresh.end(), known.begin(), known.end());
  for (const auto& watcher : fresh) {
    if (run.ok()) {
      watcher->OnRun(shared, IsOver(shared->state()));
    } else {
      watcher->OnError(run.status());
    }
  }
}

void WatchHub::Exchange(absl::Time now) {
  std::vector<RunId> mark;
  {
    MutexLock lock(mutex_);
    for (auto& [run, watched] : watched_) {
      if (now - watched.marked < options_.mark) continue;
      watched.marked = now;
      mark.push_back(run);
    }
  }
  for (const RunId run : mark) runs_.MarkWatched(run, collector_id_).IgnoreError();  // again in a few seconds
  ReadForeignProgress();
  PublishOwnProgress(now);
}

void WatchHub::ReadForeignProgress() {
  std::vector<RunId> runs;
  {
    MutexLock lock(mutex_);
    for (const auto& [run, watched] : watched_) {
      if (!watched.run) continue;
      for (const v1::Task& task : watched.run->tasks()) {
        const bool is_active = task.state() == v1::TASK_STATE_RUNNING || task.state() == v1::TASK_STATE_ASSIGNED;
        if (!is_active || registry_.Connected(task.host_id())) continue;
        runs.push_back(run);
        break;
      }
    }
  }
  for (const RunId run : runs) {
    const absl::StatusOr<std::vector<v1::Progress>> rows = runs_.ReadProgress(run);
    if (!rows.ok()) return;
    Watchers watchers;
    std::set<TaskId> own;
    {
      MutexLock lock(mutex_);
      const auto found = watched_.find(run);
      if (found == watched_.end()) continue;
      watchers = Live(found->second.watchers);
      for (const auto& [host, active] : active_) own.insert(active.progress.task_id());
    }
    for (const v1::Progress& progress : *rows) {
      if (own.contains(progress.task_id())) continue;
      for (const auto& watcher : watchers) watcher->OnProgress(progress);
    }
  }
}

void WatchHub::PublishOwnProgress(absl::Time now) {
  std::vector<TaskId> tasks;
  {
    MutexLock lock(mutex_);
    std::erase_if(active_, [&](const auto& entry) { return now - entry.second.arrived > absl::Seconds(15); });
    for (const auto& [host, active] : active_) tasks.push_back(active.progress.task_id());
  }
  if (tasks.empty()) return;
  const absl::StatusOr<std::vector<TaskId>> watched_tasks = runs_.WatchedTasks(tasks);
  if (!watched_tasks.ok()) return;
  const std::set<TaskId> watched(watched_tasks->begin(), watched_tasks->end());
  std::vector<RunStore::HostProgress> publish;
  std::map<HostId, double> rates;
  {
    MutexLock lock(mutex_);
    for (auto& [host, active] : active_) {
      const TaskId task = active.progress.task_id();
      const bool is_watched = watched.contains(task) || tasks_.contains(task);
      if (is_watched && std::exchange(active.unpublished, false)) publish.push_back({host, active.progress});
      const double rate = is_watched ? options_.watched_per_second : options_.unwatched_per_second;
      if (rate == active.rate) continue;
      active.rate = rate;
      rates[host] = rate;
    }
  }
  if (!publish.empty()) runs_.PublishProgress(publish).IgnoreError();  // ephemeral
  for (const auto& [host, rate] : rates) {
    v1::CollectorMessage message;
    message.mutable_progress_rate()->set_per_second(rate);
    registry_.Send(host, std::move(message)).IgnoreError();  // gone: the next session starts anew
  }
}

}  // namespace fleetmark::collector
