// Statistics of repetitions: pure functions over spans. The order of the values does not matter. Where a figure does
// not exist (no values, a spread of one value) it is absent, never 0; if any value is NaN or infinite every figure is
// absent.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fleetmark {

struct Interval {
  double low = 0;
  double high = 0;
};

std::optional<double> Minimum(std::span<const double> values);
std::optional<double> Maximum(std::span<const double> values);
std::optional<double> Mean(std::span<const double> values);
std::optional<double> Median(std::span<const double> values);
// Linear interpolation between order statistics, `q` in [0, 1].
std::optional<double> Quantile(std::span<const double> values, double q);
// With n - 1 below the fraction line; absent for fewer than two values.
std::optional<double> SampleStddev(std::span<const double> values);
// SampleStddev / |Mean|; absent where either is, or the mean is 0.
std::optional<double> CoefficientOfVariation(std::span<const double> values);

// The 95 % confidence interval of the median by order statistics (exact binomial, no assumption of a distribution):
// the narrowest symmetric pair of order statistics that covers at least 95 %. Absent for fewer than six values.
std::optional<Interval> MedianInterval95(std::span<const double> values);

// Which values are outliers: more than kOutlierMads scaled MADs from the median. For marking only; nothing is ever
// dropped. No value is marked among fewer than four, or where more than half are identical.
inline constexpr double kOutlierMads = 5.0;
std::vector<bool> MarkOutliers(std::span<const double> values);
// The rule in words, to be printed where a mark is shown.
inline constexpr char kOutlierRule[] =
    "more than 5 scaled median absolute deviations from the median; kept, not removed";

struct Summary {
  size_t n = 0;
  std::optional<double> median, min, max, mean, stddev, cv;
  std::optional<Interval> median_interval;
  size_t outliers = 0;
};
Summary Summarize(std::span<const double> values);

// The geometric mean of ratios. Ratios that are absent, not finite or not positive are left out and counted: "2 of 3".
struct RatioMean {
  std::optional<double> value;
  size_t used = 0;
  size_t total = 0;
};
RatioMean GeometricMean(std::span<const std::optional<double>> ratios);

}  // namespace fleetmark
