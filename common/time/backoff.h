// Backoff: how long to wait before the next try, with full jitter: uniform between 0 and a bound that doubles from
// `initial` to `cap`. One per peer; not thread-safe.
#pragma once

#include <functional>

#include "absl/time/time.h"

namespace fleetmark {

class Backoff {
 public:
  struct Options {
    absl::Duration initial = absl::Seconds(1);
    absl::Duration cap = absl::Seconds(30);
  };
  // Numbers uniform in [0, 1).
  using RandomSource = std::function<double()>;

  Backoff();
  explicit Backoff(Options options, RandomSource random = SystemRandom());

  // The wait before the next try; each call raises the bound.
  absl::Duration Next();
  // To be called after success: the next wait starts from `initial` again.
  void Reset() { bound_ = options_.initial; }

  // Seeded from the system, different in each process.
  static RandomSource SystemRandom();

 private:
  const Options options_;
  RandomSource random_;
  absl::Duration bound_;
};

}  // namespace fleetmark
