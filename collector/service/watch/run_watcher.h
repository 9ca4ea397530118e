// RunWatcher: somebody who watches a run. Implemented by the stream of WatchRun; called by the hub's thread and, for
// progress, from the reactions of agents' streams: quick, never blocking.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // At first and whenever a state has changed. `last`: the run is final, nothing follows.
  virtual void OnRun(const std::shared_ptr<const v1::Run>& run, bool last) = 0;
  // Of a task of the run. The newest counts; the watcher may drop the others.
  virtual void OnProgress(const v1::Progress& progress) = 0;
  // The run cannot be watched; nothing follows.
  virtual void OnError(const absl::Status& status) = 0;
};

bool IsOver(v1::RunState state);

}  // namespace fleetmark::collector
