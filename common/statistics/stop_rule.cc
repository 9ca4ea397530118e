#include "common/statistics/stop_rule.h"

#include <algorithm>
#include <cmath>

#include "common/statistics/summary.h"

namespace fleetmark {
namespace {

// The wider side of the interval of the median, relative to the median; absent where there is no interval yet, or no
// scale to relate it to.
std::optional<double> RelativeHalfWidth(std::span<const double> values) {
  const std::optional<Interval> interval = MedianInterval95(values);
  if (!interval.has_value()) return std::nullopt;
  const double median = *Median(values);
  const double half = std::max(interval->high - median, median - interval->low);
  if (half == 0) return 0.0;
  if (median == 0) return std::nullopt;
  return half / std::abs(median);
}

}  // namespace

std::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kPrecise:
      return "precise";
    case StopReason::kCap:
      return "cap";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kAsked:
      return "asked";
    case StopReason::kNoisy:
      return "noisy";
    case StopReason::kNone:
      break;
  }
  return "";
}

StopDecision DecideStop(const StopRule& rule, std::span<const std::vector<double>> series, int done,
                        absl::Duration elapsed) {
  StopDecision decision;
  bool precise = !series.empty();
  for (const std::vector<double>& values : series) {
    const std::optional<double> cv = CoefficientOfVariation(values);
    if (cv.has_value()) decision.cv = std::max(decision.cv.value_or(0), *cv);
    const std::optional<double> half_width = RelativeHalfWidth(values);
    precise = precise && half_width.has_value() && *half_width <= kPreciseHalfWidth;
    if (half_width.has_value()) {
      // The width shrinks with the root of n.
      const double excess = *half_width / kPreciseHalfWidth;
      const double projected = static_cast<double>(values.size()) * std::max(excess * excess, 1.0);
      decision.projected_repetitions = std::max(decision.projected_repetitions.value_or(0), projected);
    }
  }

  if (rule.exactly > 0) {
    if (done >= rule.exactly) decision.reason = StopReason::kAsked;
    return decision;
  }
  const int least = std::max(rule.least, 1);
  const int most = std::max(rule.most, least);
  if (done >= least && precise) {
    decision.reason = StopReason::kPrecise;
  } else if (done >= most) {
    decision.reason = StopReason::kCap;
  } else if (done >= std::max(least, 6) && decision.projected_repetitions.value_or(0) > static_cast<double>(most)) {
    decision.reason = StopReason::kNoisy;
  } else if (done > 0 && elapsed + elapsed / done > rule.budget) {
    decision.reason = StopReason::kBudget;
  }
  return decision;
}

}  // namespace fleetmark
