// disk.dd@1: the five steps of the classic dd script, faults included, and three honest ones beside them.
#pragma once

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

const WorkloadEntry& DiskDdEntry();

}  // namespace fleetmark::agent
