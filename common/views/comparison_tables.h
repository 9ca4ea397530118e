// The table that compares: from a CompareResponse to what people and programs read. Pure functions, used by the cli and
// by `fleetmark-agent run`, whose one column looks the same.
#pragma once

#include <vector>

#include "common/render/table.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark {

// For people: a table per workload, metrics x columns, with median, spread, repetitions and the ratio to the first
// column; the best value of a row is marked "*" where there are several. Notes and flags stand under the last table.
std::vector<Table> ComparisonTables(const v1::CompareResponse& comparison);

// For programs (CSV): a row per metric and column that has to do with its workload; target and disk are empty where a
// workload needs none.
Table ComparisonCsv(const v1::CompareResponse& comparison);

}  // namespace fleetmark
