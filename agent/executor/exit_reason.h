// Why a worker is gone and how a task ended, in words. Readers of /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/executor/worker_process.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// How often the kernel has killed for want of memory since boot (any cgroup); 0 where it does not tell.
uint64_t ReadOomKills();

// "the worker was killed by signal 11 (Segmentation fault): <last words>", "oom_killed: ..."
std::string DescribeExit(const WorkerExit& exit, bool out_of_memory, const std::string& last_words);

// "succeeded", "failed", "skipped", ...; "ended" for an outcome this version does not know.
std::string_view OutcomeName(v1::TaskOutcome outcome);

// " (it is in state D: uninterruptible sleep)", or "" if there is nothing to say.
std::string DescribeState(pid_t pid);

}  // namespace fleetmark::agent
