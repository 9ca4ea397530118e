// memory.stream@1: bandwidth of memory by copy, scale, add and triad on arrays of doubles. A variant of STREAM.
#pragma once

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

// Metrics are <kernel>.<scalar|best>.<single|multi>: the median rate of the passes, and the same with .peak: the best.
const WorkloadEntry& MemoryStreamEntry();

}  // namespace fleetmark::agent
