// Changes of state, inside a transaction that the caller has opened. Locks are taken in the order claim, runs
// (ascending), tasks, attempts; whoever changes the state of a task holds the lock of its run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "collector/store/connection.h"
#include "collector/store/states.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

void LockRuns(Transaction& transaction, const std::vector<RunId>& runs);

// The runs of these tasks, locked; what does not exist is left out.
std::vector<RunId> LockRunsOf(Transaction& transaction, const std::vector<TaskId>& tasks);

// Changes the state if the table allows it from the present one; false if not. A final state removes the progress row
// and stamps finished_at.
bool SetTaskState(Transaction& transaction, TaskId task, v1::TaskState to, const std::string& reason,
                  bool late = false);

// The same for an attempt.
bool SetAttemptState(Transaction& transaction, const AttemptKey& key, AttemptState to);

// For a task whose attempt ended without a result (its attempt is no longer `started`). With `counted`, that is the
// attempt's fault: after kMostDisowned of them the task fails. Cancelled if its run is; else queued again.
inline constexpr int kMostDisowned = 2;
void RequeueTask(Transaction& transaction, const HostId& host, TaskId task, const std::string& reason, bool counted);

// Brings the state of a run up to that of its tasks, and notifies. REQUIRES: the run's lock.
void RefreshRun(Transaction& transaction, RunId run);

}  // namespace fleetmark::collector
