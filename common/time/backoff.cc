#include "common/time/backoff.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace fleetmark {

Backoff::Backoff() : Backoff(Options{}) {}

Backoff::Backoff(Options options, RandomSource random)
    : options_(options), random_(std::move(random)), bound_(options.initial) {}

absl::Duration Backoff::Next() {
  const absl::Duration wait = bound_ * std::clamp(random_(), 0.0, 1.0);
  bound_ = std::min(bound_ * 2, options_.cap);
  return wait;
}

Backoff::RandomSource Backoff::SystemRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  auto engine = std::make_shared<std::mt19937_64>(seed);
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

}  // namespace fleetmark
