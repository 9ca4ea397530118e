// How large the arrays of memory.stream are: a pure rule.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "agent/platform/machine.h"

namespace fleetmark::agent {

struct StreamPlan {
  uint64_t array_bytes = 0;    // of each of the three
  bool fits_in_cache = false;  // array < 4 x last-level cache: measured, flagged
};

// 4 x last-level cache, but at least 256 MiB, and at most a twelfth of the available memory (so that the three stay
// within a quarter of it). `fixed`: what the user asked for instead. Skipped, with the numbers, where less than 64 MiB
// would be left or the fixed size does not fit.
absl::StatusOr<StreamPlan> PlanStreamArrays(const LastLevelCache& cache, std::optional<uint64_t> available_bytes,
                                            std::optional<uint64_t> fixed_bytes);

// True for a rate no memory has: a kernel that was optimised away, or a clock gone wrong (C-014).
bool IsImplausibleStreamRate(double bytes_per_second, unsigned threads);

}  // namespace fleetmark::agent
