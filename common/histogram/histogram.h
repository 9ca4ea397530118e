// LatencyHistogram: counts of durations in log-linear buckets: exact below 256 ns, then 128 buckets per power of two
// (a value is known to 0.4 %), up to 292 years, so that nothing is ever clamped. Count, sum, minimum and maximum are
// exact. Histograms of threads, repetitions and hosts merge into what one histogram of all of them would be.
//
// Not thread-safe: one per recording thread, merged afterwards. All memory (57 KiB) is taken and touched by the
// constructor; Record() is for timed sections: no allocation, no lock, no call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark {

struct PercentileValue {
  std::optional<double> seconds;  // absent below 1 / (1 - p) samples
  bool reliable = false;          // at least ten samples lie above
  std::string reason;             // why it is absent or unreliable: "n=6", "3 samples above"
};

class LatencyHistogram {
 public:
  static constexpr int kSubBucketBits = 7;
  static constexpr size_t kBuckets = size_t{(63 - kSubBucketBits - 1) << kSubBucketBits} + (2 << kSubBucketBits);

  LatencyHistogram() : counts_(kBuckets) {}

  // A negative duration (two clock readings that went backwards) is counted as an anomaly and dropped.
  void Record(int64_t nanoseconds) noexcept {
    if (nanoseconds < 0) [[unlikely]] {
      ++clock_anomalies_;
      return;
    }
    const uint64_t value = static_cast<uint64_t>(nanoseconds);
    ++counts_[BucketOf(value)];
    ++count_;
    sum_low_ += value;
    sum_high_ += sum_low_ < value ? 1 : 0;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  // Adds all of `other`. REQUIRES: fewer than 2^63 samples altogether.
  void Merge(const LatencyHistogram& other);
  void Clear();

  uint64_t count() const { return count_; }
  uint64_t clock_anomalies() const { return clock_anomalies_; }
  std::optional<double> min_seconds() const;
  std::optional<double> max_seconds() const;
  std::optional<double> mean_seconds() const;
  double sum_seconds() const;

  // `percent` in [0, 100], such as 99.9. The value of the sample with rank ceil(percent / 100 * n), as the middle of
  // its bucket, but within [min, max]; rank n is the exact maximum.
  PercentileValue Percentile(double percent) const;

  struct Bucket {
    uint64_t low_ns = 0;   // inclusive
    uint64_t high_ns = 0;  // inclusive
    uint64_t count = 0;
  };
  std::vector<Bucket> NonEmptyBuckets() const;

  // A few bytes per bucket in use: what is sent, and stored as bytea. Equal histograms give equal bytes.
  std::string Serialize() const;
  // Checks everything (the bytes may come from anybody): InvalidArgument says what is wrong.
  static absl::StatusOr<LatencyHistogram> Deserialize(std::string_view bytes);

  bool operator==(const LatencyHistogram& other) const = default;

  // Shared with the tests.
  static constexpr size_t BucketOf(uint64_t nanoseconds) noexcept {
    const int shift = static_cast<int>(std::bit_width(nanoseconds | 0x80)) - (kSubBucketBits + 1);
    return (static_cast<size_t>(shift) << kSubBucketBits) + static_cast<size_t>(nanoseconds >> shift);
  }
  static Bucket BoundsOf(size_t bucket);

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t sum_low_ = 0;  // the sum in nanoseconds is sum_high_ * 2^64 + sum_low_
  uint64_t sum_high_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  uint64_t clock_anomalies_ = 0;
};

}  // namespace fleetmark
