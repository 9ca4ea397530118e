// Which of two results is better, in one place for tables, arrows, colours and JSON. Pure functions; symmetric: with
// both sides exchanged, the verdict is mirrored.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units/units.h"

namespace fleetmark {

// value / baseline, or why there is none.
struct BaselineRatio {
  enum class Kind {
    kRatio,         // `ratio` is set
    kEqual,         // both are 0: equal, without a ratio
    kBaselineZero,  // "n/a (baseline 0)"
    kNoBaseline,    // "n/a (no baseline)"
    kNoValue,       // "-"
  };
  Kind kind = Kind::kNoValue;
  std::optional<double> ratio;
};
BaselineRatio RatioToBaseline(std::optional<double> baseline, std::optional<double> value);
// "0.45x", "equal", "n/a (baseline 0)", "n/a (no baseline)", "-".
std::string BaselineRatioText(const BaselineRatio& ratio);

// True if `ratio` stays a ratio of "better" after normalising: for kLowerIsBetter 1 / ratio; absent for kNone.
std::optional<double> NormalizedRatio(const BaselineRatio& ratio, Direction direction);

enum class Verdict {
  kNone,        // nothing to judge: no direction, or a side is missing
  kBetter,      // the value is better than the baseline
  kWorse,       //
  kSame,        // within the noise band
  kCannotTell,  // intervals overlap beyond the band, or a side has fewer than kFewestForVerdict repetitions
};
// "better", "worse", "same", "cannot tell", "".
std::string_view VerdictText(Verdict verdict);
// What the verdict is with the sides exchanged.
Verdict Mirror(Verdict verdict);

// Better or worse by value alone; kSame if |ln(value / baseline)| <= ln(1 + noise_band). Where either is not positive,
// the band applies to the difference relative to the larger magnitude.
Verdict Judge(double baseline, double value, Direction direction, double noise_band);

inline constexpr double kDefaultNoiseBand = 0.03;

// Two values against two lie apart by chance in a third of all cases, three against three in a tenth.
inline constexpr size_t kFewestForVerdict = 3;

struct Comparison {
  Verdict verdict = Verdict::kNone;
  BaselineRatio ratio;               // of the medians
  std::optional<double> difference;  // median(value) - median(baseline), in the metric's unit
  std::string reason;                // "single run", "intervals overlap", "no spread measured", ...; "" if clear
};

// Judges repetitions against repetitions of the baseline. The intervals are MedianInterval95, or the range where there
// are fewer than six values.
Comparison Compare(std::span<const double> baseline, std::span<const double> value, Direction direction,
                   double noise_band = kDefaultNoiseBand);

// Indices with the best value first; absent values last, equal ones in the order given. InvalidArgument for NaN,
// infinities and for Direction::kNone.
absl::StatusOr<std::vector<size_t>> Rank(std::span<const std::optional<double>> values, Direction direction);

// Indices in plain numeric order, absent values last both ways; NaN and infinities are InvalidArgument.
absl::StatusOr<std::vector<size_t>> SortedOrder(std::span<const std::optional<double>> values, bool descending);

}  // namespace fleetmark
