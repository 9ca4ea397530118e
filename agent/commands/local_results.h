// What tasks that ran here yielded, as messages and as the comparison with one column that the tables are made of.
// Pure.
#pragma once

#include "fleetmark/v1/fleet.pb.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// Fills `metrics` from the repetitions.
void SummarizeResult(v1::TaskResult& result);

// One column per target (tasks without one stand in all of them), a row per metric; what was skipped or failed is a
// note.
v1::CompareResponse CompareLocal(const v1::TaskResults& results);

}  // namespace fleetmark::agent
