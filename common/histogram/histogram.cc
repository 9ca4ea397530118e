#include "common/histogram/histogram.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

double Seconds(double nanoseconds) { return nanoseconds / 1e9; }

}  // namespace

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_low_ += other.sum_low_;
  sum_high_ += other.sum_high_ + (sum_low_ < other.sum_low_ ? 1 : 0);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  clock_anomalies_ += other.clock_anomalies_;
}

void LatencyHistogram::Clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = sum_low_ = sum_high_ = max_ = clock_anomalies_ = 0;
  min_ = UINT64_MAX;
}

std::optional<double> LatencyHistogram::min_seconds() const {
  if (count_ == 0) return std::nullopt;
  return Seconds(static_cast<double>(min_));
}

std::optional<double> LatencyHistogram::max_seconds() const {
  if (count_ == 0) return std::nullopt;
  return Seconds(static_cast<double>(max_));
}

double LatencyHistogram::sum_seconds() const {
  return Seconds(std::ldexp(static_cast<double>(sum_high_), 64) + static_cast<double>(sum_low_));
}

std::optional<double> LatencyHistogram::mean_seconds() const {
  if (count_ == 0) return std::nullopt;
  // Rounding must not push the mean past the extremes.
  return std::clamp(sum_seconds() / static_cast<double>(count_), *min_seconds(), *max_seconds());
}

LatencyHistogram::Bucket LatencyHistogram::BoundsOf(size_t bucket) {
  constexpr size_t kExact = size_t{2} << kSubBucketBits;
  if (bucket < kExact) return {bucket, bucket, 0};
  const size_t shift = (bucket >> kSubBucketBits) - 1;
  const uint64_t low = static_cast<uint64_t>(bucket - (shift << kSubBucketBits)) << shift;
  return {low, low + (uint64_t{1} << shift) - 1, 0};
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::NonEmptyBuckets() const {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] == 0) continue;
    buckets.push_back(BoundsOf(i));
    buckets.back().count = counts_[i];
  }
  return buckets;
}

PercentileValue LatencyHistogram::Percentile(double percent) const {
  PercentileValue result;
  if (count_ == 0) {
    result.reason = "no samples";
    return result;
  }
  if (!(percent >= 0 && percent <= 100)) {
    result.reason = "not a percentile";
    return result;
  }
  const double n = static_cast<double>(count_);
  // 99.9 / 100 * 1000 is a little more than 999 in binary; such noise must not raise the rank, nor cost a sample.
  const double noise = n * 1e-12;
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(percent / 100 * n - noise)), 1, count_);
  const bool extreme = percent == 0 || percent == 100;  // these are exact, not estimated
  const double above = n * (1 - percent / 100) + noise;
  if (!extreme && above < 1) {
    result.reason = absl::StrCat("n=", count_);
    return result;
  }
  result.reliable = extreme || above >= 10;
  if (!result.reliable) {
    const uint64_t whole = static_cast<uint64_t>(above);
    result.reason = absl::StrCat(whole, whole == 1 ? " sample above" : " samples above");
  }
  if (percent == 0) {
    result.seconds = *min_seconds();
    return result;
  }
  if (rank == count_) {
    result.seconds = *max_seconds();
    return result;
  }
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const Bucket bounds = BoundsOf(i);
    const uint64_t middle = bounds.low_ns + (bounds.high_ns - bounds.low_ns) / 2;
    result.seconds = Seconds(static_cast<double>(std::clamp(middle, min_, max_)));
    break;
  }
  return result;
}

}  // namespace fleetmark
