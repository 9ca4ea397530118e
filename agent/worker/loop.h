// The worker's loop: prepares a workload, repeats it until its rule says stop, and reports. It owns warm-ups,
// repetitions, conditions, cancel and the reaction to a sleeping machine; the workload owns the measuring.
//
// One thread. The cancellation and WaitForProceed() are fed by another (see control.h). Time comes from the clock, so
// that tests move it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "agent/worker/cancellation.h"
#include "agent/workloads/workload.h"
#include "common/time/clock.h"
#include "fleetmark/v1/result.pb.h"
#include "fleetmark/v1/worker.pb.h"

namespace fleetmark::agent {

// Where events go and what comes back.
class WorkerChannel {
 public:
  virtual ~WorkerChannel() = default;
  virtual absl::Status Send(const v1::WorkerEvent& event) = 0;
  // Sleeps until the executor has stored the last repetition. False: stop (see the cancellation).
  virtual bool WaitForProceed() = 0;
};

struct LoopDependencies {
  const Clock* clock = nullptr;
  WorkerChannel* channel = nullptr;
  const Cancellation* cancellation = nullptr;
};

// Runs all of it; Cleanup is always called. The result is the task's TaskFinished, not yet sent. `scratch_directory` is
// "" for workloads that do not write. REQUIRES: parameters and rule of `start` are resolved and valid.
v1::TaskFinished RunLoop(const WorkloadEntry& workload, const v1::WorkerStart& start,
                         const std::string& scratch_directory, const LoopDependencies& dependencies);

}  // namespace fleetmark::agent
