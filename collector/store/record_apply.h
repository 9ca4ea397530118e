// What records say about a task as a whole, carried over into its attempt, its task and its run. Done when all records
// before are there, so that a task that is final is also complete.
#pragma once

#include "collector/store/connection.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

// Moves the attempt's contiguous sequence up as far as its records reach, and applies the started and finished records
// it passes. Returns the sequence to acknowledge; `*state_changed` if the task's state changed. REQUIRES: the locks of
// the run and of the attempt.
int64_t AdvanceAttempt(Transaction& transaction, const HostId& host, const AttemptKey& key, bool* state_changed);

// "ext4 > vda1 > vda".
std::string DescribeStack(const v1::Target& target);

}  // namespace fleetmark::collector
