#include "common/statistics/summary.h"

#include <algorithm>
#include <cmath>

namespace fleetmark {
namespace {

// Empty if there is nothing to compute from.
std::vector<double> SortedFinite(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  for (const double value : sorted) {
    if (!std::isfinite(value)) return {};
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

bool Usable(std::span<const double> values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

double MiddleOf(double a, double b) { return a + (b - a) / 2; }

double MedianOfSorted(std::span<const double> sorted) {
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : MiddleOf(sorted[half - 1], sorted[half]);
}

}  // namespace

std::optional<double> Minimum(std::span<const double> values) {
  if (!Usable(values)) return std::nullopt;
  return *std::min_element(values.begin(), values.end());
}

std::optional<double> Maximum(std::span<const double> values) {
  if (!Usable(values)) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

std::optional<double> Mean(std::span<const double> values) {
  if (!Usable(values)) return std::nullopt;
  double mean = 0;
  double n = 0;
  for (const double value : values) {
    n += 1;
    mean += value / n - mean / n;  // neither the sum nor a difference can overflow
  }
  return mean;
}

std::optional<double> Median(std::span<const double> values) {
  const std::vector<double> sorted = SortedFinite(values);
  if (sorted.empty()) return std::nullopt;
  return MedianOfSorted(sorted);
}

std::optional<double> Quantile(std::span<const double> values, double q) {
  const std::vector<double> sorted = SortedFinite(values);
  if (sorted.empty() || !(q >= 0 && q <= 1)) return std::nullopt;
  const double position = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

std::optional<double> SampleStddev(std::span<const double> values) {
  if (values.size() < 2 || !Usable(values)) return std::nullopt;
  if (*Minimum(values) == *Maximum(values)) return 0.0;  // exactly, whatever the mean was rounded to
  const double mean = *Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  if (!std::isfinite(deviation)) return std::nullopt;
  return deviation;
}

std::optional<double> CoefficientOfVariation(std::span<const double> values) {
  const std::optional<double> deviation = SampleStddev(values);
  if (!deviation.has_value()) return std::nullopt;
  const double ratio = *deviation / std::abs(*Mean(values));
  if (!std::isfinite(ratio)) return std::nullopt;
  return ratio;
}

std::optional<Interval> MedianInterval95(std::span<const double> values) {
  const std::vector<double> sorted = SortedFinite(values);
  const size_t n = sorted.size();
  if (n < 6) return std::nullopt;
  // [x(k), x(n + 1 - k)] misses the median if fewer than k values lie on one side of it: 2 * P(Binomial(n, 1/2) < k).
  // The largest k that keeps this within 5 %. Terms by logarithms, so that large n do not underflow to 0.
  const double count = static_cast<double>(n);
  double tail = 0;
  double log_term = -count * std::log(2.0);  // of P(X = 0)
  size_t k = 0;
  while (k < n / 2) {
    tail += std::exp(log_term);
    if (2 * tail > 0.05) break;
    const double i = static_cast<double>(k);
    log_term += std::log((count - i) / (i + 1));
    ++k;
  }
  return Interval{sorted[k - 1], sorted[n - k]};
}

std::vector<bool> MarkOutliers(std::span<const double> values) {
  std::vector<bool> marks(values.size(), false);
  if (values.size() < 4 || !Usable(values)) return marks;
  const double median = *Median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - median));
  constexpr double kScale = 1.4826;  // makes the MAD of a normal distribution its standard deviation
  const double mad = kScale * *Median(deviations);
  if (mad == 0) return marks;
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = std::abs(values[i] - median) > kOutlierMads * mad;
  return marks;
}

Summary Summarize(std::span<const double> values) {
  Summary summary;
  summary.n = values.size();
  summary.median = Median(values);
  summary.min = Minimum(values);
  summary.max = Maximum(values);
  summary.mean = Mean(values);
  summary.stddev = SampleStddev(values);
  summary.cv = CoefficientOfVariation(values);
  summary.median_interval = MedianInterval95(values);
  for (const bool marked : MarkOutliers(values)) summary.outliers += marked ? 1 : 0;
  return summary;
}

RatioMean GeometricMean(std::span<const std::optional<double>> ratios) {
  RatioMean mean;
  mean.total = ratios.size();
  double logs = 0;
  for (const std::optional<double>& ratio : ratios) {
    if (!ratio.has_value() || !std::isfinite(*ratio) || *ratio <= 0) continue;
    logs += std::log(*ratio);
    ++mean.used;
  }
  if (mean.used > 0) mean.value = std::exp(logs / static_cast<double>(mean.used));
  return mean;
}

}  // namespace fleetmark
