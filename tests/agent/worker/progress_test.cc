#include "agent/worker/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fleetmark::agent {
namespace {

TEST(ProgressEstimateTest, GoesFromPreparationToTheLastPassWithoutAStepBack) {
  ProgressEstimate progress(3);
  double last = 0;
  double now = 100;
  const auto check = [&](double fraction) {
    const ProgressEstimate::Estimate estimate = progress.At(now, fraction);
    EXPECT_GE(estimate.fraction, last);
    EXPECT_LT(estimate.fraction, 1);
    last = estimate.fraction;
  };
  progress.BeginPreparation(now);
  for (int i = 0; i <= 10; ++i, now += 0.5) check(i / 10.0);
  for (int pass = 0; pass < 3; ++pass) {
    progress.BeginPass(now);
    for (int i = 0; i <= 10; ++i, now += 0.2) check(i / 10.0);
    progress.EndPass(now);
  }
  check(0);
  EXPECT_GT(last, 0.95);
}

TEST(ProgressEstimateTest, TimeLeftIsThatOfThePassesToCome) {
  ProgressEstimate progress(4);
  progress.BeginPreparation(0);
  EXPECT_FALSE(progress.At(5, 0.5).seconds_left.has_value());
  progress.BeginPass(10);
  EXPECT_FALSE(progress.At(10.5, 0.01).seconds_left.has_value());
  progress.EndPass(20);
  progress.BeginPass(20);
  EXPECT_DOUBLE_EQ(*progress.At(25, 0.5).seconds_left, 25);
  EXPECT_NEAR(progress.At(25, 0.5).fraction, 0.5, 1e-9);
}

TEST(ProgressEstimateTest, MorePassesThanExpectedAndNonsenseAreHarmless) {
  ProgressEstimate progress(1);
  progress.BeginPreparation(0);
  for (int pass = 0; pass < 5; ++pass) {
    progress.BeginPass(pass);
    const ProgressEstimate::Estimate estimate = progress.At(pass + 0.5, std::nan(""));
    EXPECT_TRUE(std::isfinite(estimate.fraction));
    EXPECT_LT(estimate.fraction, 1);
    EXPECT_GE(estimate.seconds_left.value_or(0), 0);
    progress.EndPass(pass + 1);
  }
}

}  // namespace
}  // namespace fleetmark::agent
