// The worker process: fleetmark-agent's own binary, exec'd by the executor as `fleetmark-agent worker`, to run one task
// and end. It holds the two pipes and nothing else of the agent.
#pragma once

#include <vector>

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

inline constexpr char kWorkerArgument[] = "worker";
inline constexpr int kWorkerControlFd = 3;
inline constexpr int kWorkerEventFd = 4;

// Runs the task that the control pipe orders; returns the exit code. To be called first thing in main: it changes the
// whole process (signals, descriptors, score for the OOM killer). `table` is WorkloadTable(), or a test's own.
int RunWorker(int control_fd, int event_fd, const std::vector<WorkloadEntry>& table);

}  // namespace fleetmark::agent
