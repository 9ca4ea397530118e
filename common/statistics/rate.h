// Rates are amount over time, also for groups: never a mean of rates. Pure functions.
#pragma once

#include <optional>
#include <span>

namespace fleetmark {

// amount / seconds; absent unless both are finite, the amount is not negative and the time is positive.
std::optional<double> Rate(double amount, double seconds);

// A sample of a log: `rate` held for `seconds`.
struct RateSample {
  double seconds = 0;
  double rate = 0;
};
// Sum of amounts over sum of times: (9 s, 100) and (1 s, 1000) is 190.
std::optional<double> RateOfSamples(std::span<const RateSample> samples);

// What one job of a group moved, and when (on a common monotonic clock).
struct JobWork {
  double amount = 0;
  double start_seconds = 0;
  double end_seconds = 0;
};
// Total amount over the wall time of the group, from the first start to the last end. Jobs that run side by side
// therefore add up, jobs one after the other average.
std::optional<double> GroupRate(std::span<const JobWork> jobs);

}  // namespace fleetmark
