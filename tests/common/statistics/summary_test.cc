#include "common/statistics/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace fleetmark {
namespace {

using Values = std::vector<double>;

TEST(SummaryTest, HandWorkedNumbers) {
  const Values values = {4, 1, 3, 2};
  EXPECT_EQ(Median(values), 2.5);
  EXPECT_EQ(Minimum(values), 1);
  EXPECT_EQ(Maximum(values), 4);
  EXPECT_EQ(Mean(values), 2.5);
  EXPECT_NEAR(*SampleStddev(values), 1.2909944487, 1e-9);
  EXPECT_NEAR(*CoefficientOfVariation(values), 0.5163977795, 1e-9);
  EXPECT_EQ(Quantile(values, 0), 1);
  EXPECT_EQ(Quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(*Quantile(values, 0.25), 1.75);
  EXPECT_EQ(Median(Values{5}), 5);
  EXPECT_EQ(Median(Values{3, 1, 2}), 2);
}

TEST(SummaryTest, NothingIsComputedFromNothing) {
  EXPECT_FALSE(Median(Values{}).has_value());
  EXPECT_FALSE(Minimum(Values{}).has_value());
  EXPECT_FALSE(Mean(Values{}).has_value());
  EXPECT_FALSE(SampleStddev(Values{}).has_value());
  EXPECT_FALSE(Quantile(Values{}, 0.5).has_value());
  EXPECT_FALSE(Quantile(Values{1}, 1.5).has_value());
  const Summary summary = Summarize(Values{});
  EXPECT_EQ(summary.n, 0u);
  EXPECT_FALSE(summary.median.has_value());
}

TEST(SummaryTest, OneRunHasNoSpread) {  // C-034
  const Summary summary = Summarize(Values{42});
  EXPECT_EQ(summary.median, 42);
  EXPECT_FALSE(summary.stddev.has_value());
  EXPECT_FALSE(summary.cv.has_value());
  EXPECT_FALSE(summary.median_interval.has_value());
}

TEST(SummaryTest, IdenticalValuesHaveASpreadOfExactlyZero) {  // C-034
  EXPECT_EQ(SampleStddev(Values{10.1, 10.1, 10.1}), 0.0);
  EXPECT_EQ(CoefficientOfVariation(Values{10.1, 10.1, 10.1}), 0.0);
  EXPECT_FALSE(CoefficientOfVariation(Values{0, 0, 0}).has_value());
}

TEST(SummaryTest, RefusesNanAndInfinity) {  // C-043
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Values values = {1, bad, 2, 3, 4, 5, 6, 7};
    const Summary summary = Summarize(values);
    EXPECT_FALSE(summary.median.has_value());
    EXPECT_FALSE(summary.max.has_value());
    EXPECT_FALSE(summary.mean.has_value());
    EXPECT_FALSE(summary.stddev.has_value());
    EXPECT_FALSE(summary.median_interval.has_value());
    EXPECT_EQ(summary.outliers, 0u);
  }
}

TEST(SummaryTest, SurvivesHugeValues) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(Mean(Values{huge, huge}), huge);
  EXPECT_EQ(Median(Values{huge, huge}), huge);
  EXPECT_FALSE(SampleStddev(Values{huge, -huge}).has_value());
}

TEST(MedianIntervalTest, FollowsTheBinomialTable) {
  // The known ranks of a 95 % interval of the median: n and k for [x(k), x(n + 1 - k)].
  const std::pair<size_t, size_t> table[] = {{6, 1},  {7, 1},   {8, 1},   {9, 2},    {10, 2},
                                             {11, 2}, {12, 3},  {15, 4},  {17, 5},   {20, 6},
                                             {25, 8}, {30, 10}, {50, 18}, {100, 40}, {1000, 469}};
  for (const auto& [n, k] : table) {
    Values values;
    for (size_t i = n; i > 0; --i) values.push_back(static_cast<double>(i));
    const std::optional<Interval> interval = MedianInterval95(values);
    ASSERT_TRUE(interval.has_value()) << n;
    EXPECT_EQ(interval->low, static_cast<double>(k)) << n;
    EXPECT_EQ(interval->high, static_cast<double>(n + 1 - k)) << n;
  }
}

TEST(MedianIntervalTest, IsAbsentBelowSixValues) {
  EXPECT_FALSE(MedianInterval95(Values{1, 2, 3, 4, 5}).has_value());
  EXPECT_TRUE(MedianInterval95(Values{1, 2, 3, 4, 5, 6}).has_value());
}

TEST(MedianIntervalTest, SurvivesManyValues) {
  Values values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const std::optional<Interval> interval = MedianInterval95(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 50000 - 310, 5);
  EXPECT_NEAR(interval->high, 50000 + 310, 5);
}

TEST(MedianIntervalTest, CoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(100, 10);
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Values values(11);
    for (double& value : values) value = normal(random);
    const Interval interval = *MedianInterval95(values);
    covered += interval.low <= 100 && 100 <= interval.high ? 1 : 0;
  }
  EXPECT_GT(covered, kTrials * 94 / 100);
}

TEST(MarkOutliersTest, MarksWithoutDropping) {  // C-036
  const Values values = {500, 502, 498, 120, 501};
  EXPECT_EQ(MarkOutliers(values), (std::vector<bool>{false, false, false, true, false}));
  const Summary summary = Summarize(values);
  EXPECT_EQ(summary.n, 5u);
  EXPECT_EQ(summary.median, 500);
  EXPECT_EQ(summary.min, 120);
  EXPECT_EQ(summary.max, 502);
  EXPECT_EQ(summary.outliers, 1u);
}

TEST(MarkOutliersTest, DoesNotMarkWhereThereIsNoScale) {
  EXPECT_EQ(MarkOutliers(Values{1, 100}), std::vector<bool>(2, false));
  EXPECT_EQ(MarkOutliers(Values{5, 5, 5, 5, 6}), std::vector<bool>(5, false));
}

TEST(GeometricMeanTest, DoesNotAverageRelativeChanges) {  // C-031
  const std::vector<std::optional<double>> two = {2.0, 0.5};
  EXPECT_DOUBLE_EQ(*GeometricMean(two).value, 1.0);
  const std::vector<std::optional<double>> three = {2.0, 0.5, 1.1};
  EXPECT_NEAR(*GeometricMean(three).value, 1.032, 0.0005);
}

TEST(GeometricMeanTest, CountsWhatItLeavesOut) {  // C-031
  const std::vector<std::optional<double>> ratios = {2.0, std::nullopt, 8.0, 0.0,
                                                     std::numeric_limits<double>::quiet_NaN()};
  const RatioMean mean = GeometricMean(ratios);
  EXPECT_DOUBLE_EQ(*mean.value, 4.0);
  EXPECT_EQ(mean.used, 2u);
  EXPECT_EQ(mean.total, 5u);
  EXPECT_FALSE(GeometricMean({}).value.has_value());
}

TEST(SummaryTest, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(3);
  Values values(9);
  for (double& value : values) value = static_cast<double>(random() % 1000);
  const Summary before = Summarize(values);
  std::shuffle(values.begin(), values.end(), random);
  const Summary after = Summarize(values);
  EXPECT_EQ(before.median, after.median);
  EXPECT_NEAR(*before.stddev, *after.stddev, 1e-9);
  EXPECT_EQ(before.median_interval->low, after.median_interval->low);
}

}  // namespace
}  // namespace fleetmark
