#include "common/statistics/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/statistics/summary.h"
#include "common/units/format.h"

namespace fleetmark {
namespace {

bool Finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool Overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

// At fewer than six values on either side, the range of both: the same yardstick for both sides.
std::pair<Interval, Interval> IntervalsOf(std::span<const double> a, std::span<const double> b) {
  const std::optional<Interval> of_a = MedianInterval95(a);
  const std::optional<Interval> of_b = MedianInterval95(b);
  if (of_a.has_value() && of_b.has_value()) return {*of_a, *of_b};
  return {Interval{*Minimum(a), *Maximum(a)}, Interval{*Minimum(b), *Maximum(b)}};
}

bool WithinBand(double a, double b, double band) {
  if (a == b) return true;
  if (a > 0 && b > 0) return std::abs(std::log(b) - std::log(a)) <= std::log1p(band);
  return std::abs(b - a) <= band * std::max(std::abs(a), std::abs(b));
}

absl::Status CheckFinite(std::span<const std::optional<double>> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].has_value() && !std::isfinite(*values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot order values: number ", i + 1, " is not finite; leave it out or make it unknown"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

BaselineRatio RatioToBaseline(std::optional<double> baseline, std::optional<double> value) {
  using Kind = BaselineRatio::Kind;
  const auto known = [](const std::optional<double>& v) { return v.has_value() && std::isfinite(*v); };
  if (!known(value)) return {Kind::kNoValue, std::nullopt};
  if (!known(baseline)) return {Kind::kNoBaseline, std::nullopt};
  if (*baseline == 0) return {*value == 0 ? Kind::kEqual : Kind::kBaselineZero, std::nullopt};
  const double ratio = *value / *baseline;
  if (!std::isfinite(ratio)) return {Kind::kBaselineZero, std::nullopt};
  return {Kind::kRatio, ratio};
}

std::string BaselineRatioText(const BaselineRatio& ratio) {
  switch (ratio.kind) {
    case BaselineRatio::Kind::kRatio:
      return FormatRatio(ratio.ratio);
    case BaselineRatio::Kind::kEqual:
      return "equal";
    case BaselineRatio::Kind::kBaselineZero:
      return "n/a (baseline 0)";
    case BaselineRatio::Kind::kNoBaseline:
      return "n/a (no baseline)";
    case BaselineRatio::Kind::kNoValue:
      break;
  }
  return kUnknownText;
}

std::optional<double> NormalizedRatio(const BaselineRatio& ratio, Direction direction) {
  if (direction == Direction::kNone) return std::nullopt;
  if (ratio.kind == BaselineRatio::Kind::kEqual) return 1.0;
  if (!ratio.ratio.has_value()) return std::nullopt;
  if (direction == Direction::kHigherIsBetter) return ratio.ratio;
  if (*ratio.ratio == 0) return std::nullopt;
  return 1 / *ratio.ratio;
}

std::string_view VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kSame:
      return "same";
    case Verdict::kCannotTell:
      return "cannot tell";
    case Verdict::kNone:
      break;
  }
  return "";
}

Verdict Mirror(Verdict verdict) {
  if (verdict == Verdict::kBetter) return Verdict::kWorse;
  if (verdict == Verdict::kWorse) return Verdict::kBetter;
  return verdict;
}

Verdict Judge(double baseline, double value, Direction direction, double noise_band) {
  if (direction == Direction::kNone || !std::isfinite(baseline) || !std::isfinite(value)) return Verdict::kNone;
  if (WithinBand(baseline, value, noise_band)) return Verdict::kSame;
  return (value > baseline) == (direction == Direction::kHigherIsBetter) ? Verdict::kBetter : Verdict::kWorse;
}

Comparison Compare(std::span<const double> baseline, std::span<const double> value, Direction direction,
                   double noise_band) {
  Comparison comparison;
  const std::optional<double> from = Median(baseline);
  const std::optional<double> to = Median(value);
  comparison.ratio = RatioToBaseline(from, to);
  if (from.has_value() && to.has_value()) comparison.difference = *to - *from;

  if (!Finite(baseline) || !Finite(value)) {
    comparison.reason = "a value is not finite";
  } else if (value.empty()) {
    comparison.reason = "no value";
  } else if (baseline.empty()) {
    comparison.reason = "no baseline";
  } else if (direction == Direction::kNone) {
    comparison.reason = "no direction";
  } else if (std::equal(baseline.begin(), baseline.end(), value.begin(), value.end())) {
    // Also for single runs: a result compared with itself is equal.
    comparison.verdict = Verdict::kSame;
    comparison.reason = "equal";
  } else if (const size_t fewest = std::min(baseline.size(), value.size()); fewest < kFewestForVerdict) {
    comparison.verdict = Verdict::kCannotTell;
    comparison.reason = fewest == 1 ? "single run" : absl::StrCat("fewer than ", kFewestForVerdict, " repetitions");
  } else {
    const auto [interval_from, interval_to] = IntervalsOf(baseline, value);
    comparison.verdict = Judge(*from, *to, direction, noise_band);
    if (*SampleStddev(baseline) == 0 && *SampleStddev(value) == 0) {
      comparison.reason = "no spread measured";
    } else if (Overlap(interval_from, interval_to)) {
      if (comparison.verdict != Verdict::kSame) comparison.verdict = Verdict::kCannotTell;
      comparison.reason = "intervals overlap";
    } else if (comparison.verdict == Verdict::kSame) {
      comparison.reason = "within the noise band";
    }
  }
  return comparison;
}

absl::StatusOr<std::vector<size_t>> SortedOrder(std::span<const std::optional<double>> values, bool descending) {
  if (absl::Status status = CheckFinite(values); !status.ok()) return status;
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!values[a].has_value() || !values[b].has_value()) return values[a].has_value() && !values[b].has_value();
    return descending ? *values[a] > *values[b] : *values[a] < *values[b];
  });
  return order;
}

absl::StatusOr<std::vector<size_t>> Rank(std::span<const std::optional<double>> values, Direction direction) {
  if (direction == Direction::kNone) {
    return absl::InvalidArgumentError("cannot rank a metric that has no direction; name higher or lower as better");
  }
  return SortedOrder(values, direction == Direction::kHigherIsBetter);
}

}  // namespace fleetmark
