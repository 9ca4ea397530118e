#include "agent/workloads/memory/stream_plan.h"

#include <algorithm>

#include "agent/workloads/workload.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kMib = 1ull << 20;
constexpr uint64_t kUsualBytes = 256 * kMib;
constexpr uint64_t kLeastBytes = 64 * kMib;
constexpr uint64_t kCacheMultiple = 4;
constexpr uint64_t kShareOfAvailable = 12;  // three arrays: a quarter

constexpr double kMostPerThread = 256e9;
constexpr double kMostPerMachine = 4e12;

std::string Size(uint64_t bytes) { return FormatQuantity(static_cast<double>(bytes), Unit::kBytes, UnitFamily::kIec); }

}  // namespace

absl::StatusOr<StreamPlan> PlanStreamArrays(const LastLevelCache& cache, std::optional<uint64_t> available_bytes,
                                            std::optional<uint64_t> fixed_bytes) {
  StreamPlan plan;
  const uint64_t wanted = std::max(kCacheMultiple * cache.bytes, kUsualBytes);
  if (fixed_bytes) {
    if (available_bytes && *fixed_bytes > *available_bytes / kShareOfAvailable) {
      return SkippedError("three arrays of " + Size(*fixed_bytes) + " are more than a quarter of the " +
                          Size(*available_bytes) + " that are available; set memory.stream.size to at most " +
                          Size(*available_bytes / kShareOfAvailable / kMib * kMib));
    }
    plan.array_bytes = *fixed_bytes;
  } else {
    plan.array_bytes = available_bytes ? std::min(wanted, *available_bytes / kShareOfAvailable) : kUsualBytes;
    if (plan.array_bytes < kLeastBytes) {
      return SkippedError("too little memory: three arrays within a quarter of the " + Size(*available_bytes) +
                          " that are available would have " + Size(plan.array_bytes) + " each, under the least of " +
                          Size(kLeastBytes));
    }
  }
  plan.fits_in_cache = plan.array_bytes < kCacheMultiple * cache.bytes;
  return plan;
}

bool IsImplausibleStreamRate(double bytes_per_second, unsigned threads) {
  return bytes_per_second > std::min(kMostPerThread * std::max(1u, threads), kMostPerMachine);
}

}  // namespace fleetmark::agent
