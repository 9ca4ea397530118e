// RateLimiter: how many wrong tokens may be tried, by one peer and by all together. Successes cost nothing.
//
// Two token buckets. Memory is bounded: at most `peers` peers are remembered, then the ones longest quiet are forgotten
// (the common bucket still holds). Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark::collector {

class RateLimiter {
 public:
  struct Options {
    double failures_per_peer = 5;              // at once
    double failures_in_total = 50;             // at once
    absl::Duration refill = absl::Minutes(1);  // in which a bucket fills from empty
    size_t peers = 1024;
  };

  RateLimiter(Options options, const Clock& clock) : options_(options), clock_(clock) {}

  // Whether `peer` may try now. Takes nothing.
  bool MayTry(const std::string& peer) EXCLUDES(mutex_);
  void CountFailure(const std::string& peer) EXCLUDES(mutex_);

 private:
  struct Bucket {
    double spent = 0;
    int64_t at_ns = 0;
  };
  double Spent(const Bucket& bucket, double capacity, int64_t now_ns) const;

  const Options options_;
  const Clock& clock_;
  Mutex mutex_;
  Bucket total_ GUARDED_BY(mutex_);
  std::map<std::string, Bucket> peers_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
