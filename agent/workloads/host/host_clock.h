// host.clock@1: what reading the clock costs, and its smallest step.
#pragma once

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

// Metrics: `cost` and `step`, both in seconds. Takes 50 ms, needs neither a target nor a quiet machine.
const WorkloadEntry& HostClockEntry();

}  // namespace fleetmark::agent
