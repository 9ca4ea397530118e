// disk.profile@1: direct, time-based I/O on one file filled with our data, with the jobs of ProfileJobs(), each read,
// written and mixed (70 % reads).
#pragma once

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

const WorkloadEntry& DiskProfileEntry();

}  // namespace fleetmark::agent
