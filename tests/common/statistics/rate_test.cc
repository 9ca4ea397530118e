#include "common/statistics/rate.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace fleetmark {
namespace {

TEST(RateTest, IsAmountOverTime) {
  EXPECT_EQ(Rate(1000, 2), 500);
  EXPECT_EQ(Rate(0, 2), 0);
}

TEST(RateTest, IsAbsentWhereItHasNoMeaning) {  // C-012
  EXPECT_FALSE(Rate(0, 0).has_value());
  EXPECT_FALSE(Rate(10, 0).has_value());
  EXPECT_FALSE(Rate(10, -1).has_value());
  EXPECT_FALSE(Rate(-10, 1).has_value());
  EXPECT_FALSE(Rate(std::numeric_limits<double>::quiet_NaN(), 1).has_value());
  EXPECT_FALSE(Rate(1e300, 1e-300).has_value());
}

TEST(RateTest, OfSamplesWeighsThemByTime) {  // C-049
  const std::vector<RateSample> samples = {{9, 100e6}, {1, 1000e6}};
  EXPECT_DOUBLE_EQ(*RateOfSamples(samples), 190e6);
  EXPECT_FALSE(RateOfSamples({}).has_value());
}

TEST(RateTest, OfAGroupIsTotalOverWallTime) {  // C-049
  const std::vector<JobWork> jobs = {{1900e6, 0, 10}, {1000e6, 0, 2}};
  EXPECT_DOUBLE_EQ(*GroupRate(jobs), 290e6);
  const std::vector<JobWork> in_a_row = {{100, 0, 1}, {300, 1, 2}};
  EXPECT_DOUBLE_EQ(*GroupRate(in_a_row), 200);
  EXPECT_FALSE(GroupRate({}).has_value());
  EXPECT_FALSE(GroupRate(std::vector<JobWork>{{1, 2, 1}}).has_value());
}

}  // namespace
}  // namespace fleetmark
