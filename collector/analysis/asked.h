// Whether there is anything to compare in what was asked for.
#pragma once

#include "absl/status/status.h"
#include "collector/analysis/comparison.h"

namespace fleetmark::collector {

// NotFound if there are no results at all (with the first reason why), or none of a target that was named: a typo must
// not silently leave rows out. The text names what is nearest, or why the target has none.
absl::Status CheckAsked(const ResultSet& results, const ComparisonOptions& options);

}  // namespace fleetmark::collector
