#include "common/statistics/rate.h"

#include <algorithm>
#include <cmath>

namespace fleetmark {

std::optional<double> Rate(double amount, double seconds) {
  if (!std::isfinite(amount) || !std::isfinite(seconds) || amount < 0 || seconds <= 0) return std::nullopt;
  const double rate = amount / seconds;
  if (!std::isfinite(rate)) return std::nullopt;
  return rate;
}

std::optional<double> RateOfSamples(std::span<const RateSample> samples) {
  double amount = 0;
  double seconds = 0;
  for (const RateSample& sample : samples) {
    if (!(sample.seconds >= 0) || !(sample.rate >= 0)) return std::nullopt;
    amount += sample.seconds * sample.rate;
    seconds += sample.seconds;
  }
  return Rate(amount, seconds);
}

std::optional<double> GroupRate(std::span<const JobWork> jobs) {
  if (jobs.empty()) return std::nullopt;
  double amount = 0;
  double start = jobs.front().start_seconds;
  double end = jobs.front().end_seconds;
  for (const JobWork& job : jobs) {
    if (!(job.end_seconds >= job.start_seconds) || !(job.amount >= 0)) return std::nullopt;
    amount += job.amount;
    start = std::min(start, job.start_seconds);
    end = std::max(end, job.end_seconds);
  }
  return Rate(amount, end - start);
}

}  // namespace fleetmark
