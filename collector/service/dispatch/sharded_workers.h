// ShardedWorkers: a few named threads for what a reaction must not do (database, parsing). Jobs with equal keys run on
// the same thread, in the order they were posted: everything of one host happens one thing after the other.
//
// Owned by the collector. Post() from any thread, also from jobs. Threads run from the constructor to Shutdown(),
// which runs what is queued until its deadline and joins; a job must therefore end by itself.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class ShardedWorkers {
 public:
  using Job = std::function<void()>;

  // Threads are called "<name>-0", "<name>-1", ...
  ShardedWorkers(const std::string& name, unsigned threads);
  ~ShardedWorkers();  // REQUIRES: Shutdown() was called
  ShardedWorkers(const ShardedWorkers&) = delete;
  ShardedWorkers& operator=(const ShardedWorkers&) = delete;

  // False (and the job is dropped) after Shutdown() has begun.
  bool Post(std::string_view key, Job job);

  // Idempotent. Returns how many queued jobs were dropped because the deadline had passed.
  size_t Shutdown(absl::Duration deadline);

 private:
  struct Shard {
    Mutex mutex;
    CondVar changed;
    std::deque<Job> jobs GUARDED_BY(mutex);
    bool stopping GUARDED_BY(mutex) = false;
    std::thread thread;
  };
  static void Run(Shard& shard);

  std::vector<std::unique_ptr<Shard>> shards_;  // constant after construction
};

}  // namespace fleetmark::collector
