#include "collector/service/enrollment/rate_limiter.h"

#include <algorithm>

namespace fleetmark::collector {

double RateLimiter::Spent(const Bucket& bucket, double capacity, int64_t now_ns) const {
  const double passed =
      static_cast<double>(now_ns - bucket.at_ns) / static_cast<double>(absl::ToInt64Nanoseconds(options_.refill));
  return std::max(0.0, bucket.spent - passed * capacity);
}

bool RateLimiter::MayTry(const std::string& peer) {
  const int64_t now = clock_.MonotonicNs();
  MutexLock lock(mutex_);
  // What is left must hold one more failure.
  if (Spent(total_, options_.failures_in_total, now) > options_.failures_in_total - 1) return false;
  const auto found = peers_.find(peer);
  return found == peers_.end() ||
         Spent(found->second, options_.failures_per_peer, now) <= options_.failures_per_peer - 1;
}

void RateLimiter::CountFailure(const std::string& peer) {
  const int64_t now = clock_.MonotonicNs();
  MutexLock lock(mutex_);
  total_ = {Spent(total_, options_.failures_in_total, now) + 1, now};
  if (peers_.size() >= options_.peers && peers_.find(peer) == peers_.end()) {
    const auto quietest = std::min_element(
        peers_.begin(), peers_.end(), [](const auto& a, const auto& b) { return a.second.at_ns < b.second.at_ns; });
    if (quietest != peers_.end()) peers_.erase(quietest);
  }
  Bucket& bucket = peers_[peer];
  bucket = {Spent(bucket, options_.failures_per_peer, now) + 1, now};
}

}  // namespace fleetmark::collector
