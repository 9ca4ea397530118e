// The states of runs, tasks and attempts, and which may follow which: the one table for the code. The CHECK constraints
// of the schema list the same words; a test compares them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

enum class AttemptState { kStarted, kFinished, kInterrupted, kDisowned };

std::string_view Name(v1::RunState state);  // "running"
std::string_view Name(v1::TaskState state);
std::string_view Name(AttemptState state);
v1::RunState RunStateNamed(std::string_view name);  // unspecified if there is none
v1::TaskState TaskStateNamed(std::string_view name);
std::optional<AttemptState> AttemptStateNamed(std::string_view name);

bool MayBecome(v1::RunState from, v1::RunState to);
bool MayBecome(v1::TaskState from, v1::TaskState to);
bool MayBecome(AttemptState from, AttemptState to);

bool IsFinal(v1::RunState state);
bool IsFinal(v1::TaskState state);

// From which states a task may become `to`, as words: for `WHERE state = ANY(...)`.
std::vector<std::string> MayPrecede(v1::TaskState to);

// How many tasks of a run are in which state; the state of the run that follows. `cancel_requested`: somebody cancelled
// it.
struct TaskCounts {
  int64_t open = 0;   // not final
  int64_t begun = 0;  // assigned, running or final by running
  int64_t succeeded = 0;
  int64_t cancelled = 0;
  int64_t other = 0;  // failed, skipped, lost
};
v1::RunState RunStateFor(const TaskCounts& counts, bool cancel_requested);

}  // namespace fleetmark::collector
