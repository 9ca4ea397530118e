// WatchHub: brings what happens in runs to those who watch them: state changes from the rows, progress from the
// agents connected here and, at most once a second and only while somebody watches, from other collectors through one
// row per task. It also tells agents how often their progress is wanted.
//
// Owned by the collector; one thread, "watch", from Start() to Shutdown(). Thread-safe; nothing but the thread itself
// touches the database. Watchers are held weakly.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "collector/registry/agent_registry.h"
#include "collector/service/watch/run_watcher.h"
#include "collector/store/run_store.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

struct WatchOptions {
  absl::Duration poll = absl::Seconds(2);      // of the rows, where no notification comes
  absl::Duration exchange = absl::Seconds(1);  // of progress with other collectors
  absl::Duration mark = absl::Seconds(4);      // "somebody watches", which holds for 10 s
  double watched_per_second = 5;
  double unwatched_per_second = 1;
};

class WatchHub {
 public:
  WatchHub(RunStore& runs, AgentRegistry& registry, std::string collector_id, WatchOptions options = {});
  ~WatchHub();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();
  void Shutdown() EXCLUDES(mutex_);  // idempotent; watchers get an error

  void Add(RunId run, const std::shared_ptr<RunWatcher>& watcher) EXCLUDES(mutex_);

  // Something in this run has changed; 0: in any.
  void RunChanged(RunId run) EXCLUDES(mutex_);
  void Progress(const HostId& host, const v1::Progress& progress) EXCLUDES(mutex_);

 private:
  struct Watched {
    std::vector<std::weak_ptr<RunWatcher>> watchers;
    std::vector<std::weak_ptr<RunWatcher>> fresh;  // have not seen the run yet
    bool dirty = true;
    absl::Time looked = absl::InfinitePast();
    absl::Time marked = absl::InfinitePast();
    std::string seen;  // the run as last sent, without progress
    std::shared_ptr<const v1::Run> run;
  };
  struct Active {  // the task that runs on a host connected here
    v1::Progress progress;
    absl::Time arrived;
    bool unpublished = true;
    double rate = 0;  // as the agent was told; 0: not yet
  };
  struct KnownTask {
    RunId run;
    HostId host;
  };
  using Watchers = std::vector<std::shared_ptr<RunWatcher>>;

  void Run() EXCLUDES(mutex_);
  void LookAt(RunId run, absl::Time now) EXCLUDES(mutex_);
  void Exchange(absl::Time now) EXCLUDES(mutex_);
  void ReadForeignProgress() EXCLUDES(mutex_);
  void PublishOwnProgress(absl::Time now) EXCLUDES(mutex_);
  static Watchers Live(std::vector<std::weak_ptr<RunWatcher>>& watchers);

  RunStore& runs_;
  AgentRegistry& registry_;
  const std::string collector_id_;
  const WatchOptions options_;
  std::thread thread_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool work_ GUARDED_BY(mutex_) = false;
  std::map<RunId, Watched> watched_ GUARDED_BY(mutex_);
  std::map<TaskId, KnownTask> tasks_ GUARDED_BY(mutex_);  // of watched runs
  std::map<HostId, Active> active_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
