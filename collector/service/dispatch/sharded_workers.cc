#include "collector/service/dispatch/sharded_workers.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/lifecycle/thread_name.h"

namespace fleetmark::collector {

ShardedWorkers::ShardedWorkers(const std::string& name, unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    auto shard = std::make_unique<Shard>();
    Shard& reference = *shard;
    shard->thread = std::thread([&reference, thread_name = absl::StrCat(name, "-", i)] {
      SetThreadName(thread_name);
      Run(reference);
    });
    shards_.push_back(std::move(shard));
  }
}

ShardedWorkers::~ShardedWorkers() {
  for ([[maybe_unused]] const auto& shard : shards_) assert(!shard->thread.joinable());
}

bool ShardedWorkers::Post(std::string_view key, Job job) {
  Shard& shard = *shards_[std::hash<std::string_view>()(key) % shards_.size()];
  MutexLock lock(shard.mutex);
  if (shard.stopping) return false;
  shard.jobs.push_back(std::move(job));
  shard.changed.NotifyOne();
  return true;
}

void ShardedWorkers::Run(Shard& shard) {
  for (;;) {
    Job job;
    {
      MutexLock lock(shard.mutex);
      while (shard.jobs.empty() && !shard.stopping) shard.changed.Wait(shard.mutex);
      if (shard.jobs.empty()) return;
      job = std::move(shard.jobs.front());
      shard.jobs.pop_front();
      if (shard.jobs.empty()) shard.changed.NotifyAll();
    }
    job();
  }
}

size_t ShardedWorkers::Shutdown(absl::Duration deadline) {
  const absl::Time give_up = absl::Now() + deadline;
  size_t dropped = 0;
  for (auto& shard : shards_) {
    MutexLock lock(shard->mutex);
    shard->stopping = true;
    shard->changed.NotifyAll();
  }
  for (auto& shard : shards_) {
    MutexLock lock(shard->mutex);
    while (!shard->jobs.empty() && absl::Now() < give_up) {
      shard->changed.WaitFor(shard->mutex, absl::ToChronoNanoseconds(give_up - absl::Now()));
    }
    dropped += shard->jobs.size();
    shard->jobs.clear();
  }
  for (auto& shard : shards_) {
    if (shard->thread.joinable()) shard->thread.join();
  }
  return dropped;
}

}  // namespace fleetmark::collector
