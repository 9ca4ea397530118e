// When a workload has been repeated often enough. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace fleetmark {

struct StopRule {
  // If positive: that many repetitions, whatever they show (what the user or the suite asked for).
  int exactly = 0;
  // Otherwise between `least` and `most` (the cap), within `budget`.
  int least = 6;
  int most = 15;
  absl::Duration budget = absl::InfiniteDuration();
};

enum class StopReason {
  kNone,     // go on
  kPrecise,  // the 95 % interval of the median is within ±3 % for every metric that counts
  kCap,      // `most` repetitions
  kBudget,   // another repetition would not fit into the budget
  kAsked,    // `exactly` repetitions
  kNoisy,    // the precision cannot be reached within the cap: flag the result with its CV
};
// "precise", "cap", "budget", "asked", "noisy"; "" for kNone.
std::string_view StopReasonName(StopReason reason);

inline constexpr double kPreciseHalfWidth = 0.03;

struct StopDecision {
  StopReason reason = StopReason::kNone;
  bool stop() const { return reason != StopReason::kNone; }
  // Repetitions that the noisiest metric would need, as far as it can be projected (from six values on).
  std::optional<double> projected_repetitions;
  // The largest coefficient of variation among the metrics.
  std::optional<double> cv;
};

// To be asked after every repetition that counts (not after warm-ups). `series` has one entry per primary metric: its
// values so far. `done` counts the repetitions made, also those without a value; `elapsed` is their time altogether.
StopDecision DecideStop(const StopRule& rule, std::span<const std::vector<double>> series, int done,
                        absl::Duration elapsed);

}  // namespace fleetmark
