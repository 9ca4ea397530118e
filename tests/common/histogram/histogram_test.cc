#include "common/histogram/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/common/histogram/count_allocations.h"

namespace fleetmark {
namespace {

constexpr double kPercents[] = {0, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

// Latencies of every size, from 0 to 2^62 ns, evenly over the logarithm.
int64_t AnyLatency(std::mt19937_64& random) { return static_cast<int64_t>(random() >> (2 + random() % 62)); }

LatencyHistogram HistogramOf(const std::vector<int64_t>& values) {
  LatencyHistogram histogram;
  for (const int64_t value : values) histogram.Record(value);
  return histogram;
}

TEST(LatencyHistogramTest, ZeroOperationsHaveNoLatency) {  // C-012
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_FALSE(histogram.min_seconds().has_value());
  EXPECT_FALSE(histogram.max_seconds().has_value());
  EXPECT_FALSE(histogram.mean_seconds().has_value());
  for (const double percent : kPercents) {
    EXPECT_FALSE(histogram.Percentile(percent).seconds.has_value());
    EXPECT_EQ(histogram.Percentile(percent).reason, "no samples");
  }
}

TEST(LatencyHistogramTest, EveryBucketHoldsWhatItsBoundsSay) {
  uint64_t expected_low = 0;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    const LatencyHistogram::Bucket bounds = LatencyHistogram::BoundsOf(i);
    ASSERT_EQ(bounds.low_ns, expected_low);  // without gaps
    ASSERT_EQ(LatencyHistogram::BucketOf(bounds.low_ns), i);
    ASSERT_EQ(LatencyHistogram::BucketOf(bounds.high_ns), i);
    const double half = static_cast<double>(bounds.high_ns - bounds.low_ns) / 2;
    if (bounds.low_ns > 0) {
      ASSERT_LE(half / static_cast<double>(bounds.low_ns), 0.0040);
    }
    expected_low = bounds.high_ns + 1;
  }
  EXPECT_EQ(expected_low, uint64_t{1} << 63);  // up to INT64_MAX
}

TEST(LatencyHistogramTest, CountsClockAnomaliesAndDropsThem) {  // C-018
  LatencyHistogram histogram;
  histogram.Record(1000420 - 1000500);
  histogram.Record(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.clock_anomalies(), 2u);
  EXPECT_FALSE(histogram.max_seconds().has_value());
  histogram.Record(80);
  EXPECT_EQ(histogram.max_seconds(), 80e-9);
}

TEST(LatencyHistogramTest, DoesNotClampLongLatencies) {  // C-019
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.Record(int64_t{i} * 94'396'000);  // up to 94.396 s
  EXPECT_EQ(histogram.max_seconds(), 94.396);
  EXPECT_NEAR(*histogram.Percentile(50).seconds, 47.198, 0.2);
  EXPECT_NEAR(*histogram.Percentile(99).seconds, 93.452, 0.4);
  histogram.Record(std::numeric_limits<int64_t>::max());
  EXPECT_NEAR(*histogram.max_seconds(), 9.223372036854775807e9, 1);
  EXPECT_LE(*histogram.mean_seconds(), *histogram.max_seconds());
}

TEST(LatencyHistogramTest, MergesInsteadOfAveragingPercentiles) {  // C-032
  LatencyHistogram a;
  for (int i = 0; i < 1000; ++i) a.Record(1'000'000);
  LatencyHistogram b;
  for (int i = 0; i < 10; ++i) b.Record(900'000'000);
  a.Merge(b);
  EXPECT_EQ(a.count(), 1010u);
  EXPECT_NEAR(*a.Percentile(99).seconds, 1e-3, 1e-5);
  EXPECT_EQ(a.max_seconds(), 0.9);
}

TEST(LatencyHistogramTest, HighPercentilesNeedSamples) {  // C-033
  LatencyHistogram histogram;
  for (int64_t i = 1; i <= 6; ++i) histogram.Record(i * 1000);
  EXPECT_FALSE(histogram.Percentile(90).seconds.has_value());
  EXPECT_EQ(histogram.Percentile(90).reason, "n=6");
  EXPECT_TRUE(histogram.Percentile(50).seconds.has_value());
  EXPECT_FALSE(histogram.Percentile(50).reliable);
  EXPECT_EQ(histogram.Percentile(50).reason, "3 samples above");

  const auto with = [](int n) {
    LatencyHistogram filled;
    for (int i = 1; i <= n; ++i) filled.Record(i);
    return filled;
  };
  EXPECT_FALSE(with(99).Percentile(99).seconds.has_value());
  EXPECT_TRUE(with(100).Percentile(99).seconds.has_value());
  EXPECT_FALSE(with(999).Percentile(99).reliable);
  EXPECT_TRUE(with(1000).Percentile(99).reliable);
  EXPECT_FALSE(with(999).Percentile(99.9).seconds.has_value());
  EXPECT_TRUE(with(1000).Percentile(99.9).seconds.has_value());
  EXPECT_FALSE(with(9999).Percentile(99.9).reliable);
  EXPECT_TRUE(with(10000).Percentile(99.9).reliable);
}

TEST(LatencyHistogramTest, ExactRanksBelow256Nanoseconds) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.Record(i);
  EXPECT_EQ(histogram.Percentile(50).seconds, 50e-9);
  EXPECT_EQ(histogram.Percentile(99).seconds, 99e-9);
  EXPECT_EQ(histogram.Percentile(100).seconds, 100e-9);
  EXPECT_EQ(histogram.Percentile(0).seconds, 1e-9);
  EXPECT_TRUE(histogram.Percentile(100).reliable);
  EXPECT_FALSE(histogram.Percentile(101).seconds.has_value());
  EXPECT_FALSE(histogram.Percentile(std::nan("")).seconds.has_value());
}

TEST(LatencyHistogramTest, PercentilesAreWithinOnePercentOfTheTruth) {
  std::mt19937_64 random(21);
  std::lognormal_distribution<double> latency(11, 1.5);
  std::vector<int64_t> values(20000);
  for (int64_t& value : values) value = static_cast<int64_t>(latency(random));
  const LatencyHistogram histogram = HistogramOf(values);
  std::sort(values.begin(), values.end());
  for (const double percent : {50.0, 90.0, 95.0, 99.0, 99.9}) {
    const size_t rank = static_cast<size_t>(std::ceil(percent / 100 * 20000 - 1e-6));
    const double truth = static_cast<double>(values[rank - 1]) / 1e9;
    EXPECT_NEAR(*histogram.Percentile(percent).seconds, truth, truth * 0.01) << percent;
  }
}

TEST(LatencyHistogramTest, InvariantsHoldForAnyValues) {  // C-019
  std::mt19937_64 random(22);
  for (int trial = 0; trial < 200; ++trial) {
    LatencyHistogram histogram;
    const size_t n = 1 + random() % 2000;
    for (size_t i = 0; i < n; ++i) histogram.Record(AnyLatency(random));
    double last = *histogram.min_seconds();
    for (const double percent : kPercents) {
      const std::optional<double> value = histogram.Percentile(percent).seconds;
      if (!value.has_value()) continue;
      ASSERT_GE(*value, last);
      ASSERT_LE(*value, *histogram.max_seconds());
      last = *value;
    }
    ASSERT_GE(*histogram.mean_seconds(), *histogram.min_seconds());
    ASSERT_LE(*histogram.mean_seconds(), *histogram.max_seconds());
  }
}

TEST(LatencyHistogramTest, MergeIsCommutativeAssociativeAndTheSameAsRecordingAll) {
  std::mt19937_64 random(23);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<int64_t> parts[3];
    std::vector<int64_t> all;
    for (auto& part : parts) {
      part.resize(random() % 300);
      for (int64_t& value : part) value = random() % 50 == 0 ? -1 : AnyLatency(random);
      all.insert(all.end(), part.begin(), part.end());
    }
    const LatencyHistogram a = HistogramOf(parts[0]), b = HistogramOf(parts[1]), c = HistogramOf(parts[2]);
    LatencyHistogram forth = a;
    forth.Merge(b);
    forth.Merge(c);
    LatencyHistogram back = c;
    back.Merge(b);
    back.Merge(a);
    ASSERT_TRUE(forth == back);
    ASSERT_TRUE(forth == HistogramOf(all));
  }
}

TEST(LatencyHistogramTest, TheSumIsExactBeyond64Bits) {
  LatencyHistogram histogram;
  constexpr int64_t kLongest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 10; ++i) histogram.Record(kLongest);
  EXPECT_NEAR(histogram.sum_seconds() / 9.223372036854775807e10, 1, 1e-12);
  LatencyHistogram twice = histogram;
  twice.Merge(histogram);
  EXPECT_NEAR(twice.sum_seconds() / 1.8446744073709551614e11, 1, 1e-12);
}

TEST(LatencyHistogramTest, RecordingAllocatesNothing) {
  LatencyHistogram histogram;
  std::mt19937_64 random(24);
  const int64_t before = Allocations();
  for (int i = 0; i < 100000; ++i) histogram.Record(AnyLatency(random));
  EXPECT_EQ(Allocations(), before);
}

TEST(LatencyHistogramTest, ClearForgetsEverything) {
  LatencyHistogram histogram = HistogramOf({-1, 5, 1000000});
  histogram.Clear();
  EXPECT_TRUE(histogram == LatencyHistogram());
}

TEST(LatencyHistogramTest, ListsItsBuckets) {
  const LatencyHistogram histogram = HistogramOf({5, 5, 1000});
  const std::vector<LatencyHistogram::Bucket> buckets = histogram.NonEmptyBuckets();
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].low_ns, 5u);
  EXPECT_EQ(buckets[0].high_ns, 5u);
  EXPECT_EQ(buckets[0].count, 2u);
  EXPECT_LE(buckets[1].low_ns, 1000u);
  EXPECT_GE(buckets[1].high_ns, 1000u);
}

}  // namespace
}  // namespace fleetmark
