// A task's attempt, as agent and collector name it.
#pragma once

#include <cstdint>
#include <utility>

#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

using TaskKey = std::pair<int64_t, uint32_t>;  // task, attempt

inline TaskKey KeyOf(const v1::StartTask& task) { return {task.task_id(), task.attempt()}; }

}  // namespace fleetmark::agent
