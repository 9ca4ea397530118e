#include "common/statistics/stop_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace fleetmark {
namespace {

using Series = std::vector<std::vector<double>>;

StopDecision Ask(const StopRule& rule, const Series& series, absl::Duration each = absl::Seconds(1)) {
  const int done = series.empty() ? 0 : static_cast<int>(series[0].size());
  return DecideStop(rule, series, done, each * done);
}

TEST(StopRuleTest, ObeysAnAskedNumberExactly) {  // C-037
  const StopRule rule{.exactly = 3, .budget = absl::Seconds(1)};
  EXPECT_FALSE(Ask(rule, {{1}}).stop());
  EXPECT_FALSE(Ask(rule, {{1, 900}}).stop());
  EXPECT_EQ(Ask(rule, {{1, 900, 5}}).reason, StopReason::kAsked);
  const StopRule one{.exactly = 1};
  EXPECT_EQ(Ask(one, {{1}}).reason, StopReason::kAsked);
}

TEST(StopRuleTest, StopsWhenPrecise) {
  const StopRule rule;
  EXPECT_FALSE(Ask(rule, {{100, 101, 99, 100, 100}}).stop());  // five have no interval
  const StopDecision decision = Ask(rule, {{100, 101, 99, 100, 100, 102}});
  EXPECT_EQ(decision.reason, StopReason::kPrecise);
  EXPECT_EQ(decision.projected_repetitions, 6);
}

TEST(StopRuleTest, NeedsEveryMetricToBePrecise) {
  const StopRule rule;
  EXPECT_FALSE(Ask(rule, {{100, 101, 99, 100, 100, 102}, {100, 104, 99, 100, 100, 102}}).stop());
}

TEST(StopRuleTest, GivesUpOnNoiseAfterSix) {  // C-037
  const StopRule rule;
  const Series series = {{100, 130, 70, 150, 60, 90}};
  const StopDecision decision = Ask(rule, series);
  EXPECT_EQ(decision.reason, StopReason::kNoisy);
  EXPECT_GT(*decision.projected_repetitions, 15);
  EXPECT_NEAR(*decision.cv, 0.346, 0.005);
}

TEST(StopRuleTest, GoesOnWhereTheCapMayBeEnough) {
  const StopRule rule;
  const StopDecision decision = Ask(rule, {{100, 104, 96, 100, 101, 99}});
  EXPECT_FALSE(decision.stop());
  EXPECT_GT(*decision.projected_repetitions, 6);
  EXPECT_LE(*decision.projected_repetitions, 15);
}

TEST(StopRuleTest, StopsAtTheCap) {
  StopRule rule;
  rule.most = 7;
  const StopDecision decision = Ask(rule, {{100, 104, 96, 100, 101, 99, 100}});
  EXPECT_EQ(decision.reason, StopReason::kCap);
  EXPECT_GT(*decision.projected_repetitions, 7);
}

TEST(StopRuleTest, StopsBeforeTheBudgetIsOverrun) {
  StopRule rule;
  rule.budget = absl::Seconds(10);
  EXPECT_FALSE(Ask(rule, {{1}}, absl::Seconds(4)).stop());
  EXPECT_EQ(Ask(rule, {{1, 2}}, absl::Seconds(4)).reason, StopReason::kBudget);  // a third would end at 12 s
}

TEST(StopRuleTest, CountsRepetitionsWithoutAValue) {
  const StopRule rule;
  EXPECT_EQ(DecideStop(rule, Series{{}}, 15, absl::Seconds(15)).reason, StopReason::kCap);
  EXPECT_FALSE(DecideStop(rule, Series{{}}, 6, absl::Seconds(6)).stop());
  EXPECT_EQ(DecideStop(rule, Series{}, 15, absl::Seconds(15)).reason, StopReason::kCap);
}

TEST(StopRuleTest, EndsForEveryKindOfValues) {  // C-037
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    Series series(1 + random() % 3);
    StopRule rule;
    rule.least = static_cast<int>(random() % 10);
    rule.most = static_cast<int>(random() % 20);
    const int cap = std::max({rule.least, rule.most, 1});
    int n = 0;
    StopDecision decision;
    while (!decision.stop()) {
      ASSERT_LT(n, cap);
      ++n;
      for (auto& values : series) {
        switch (random() % 4) {
          case 0:
            break;  // no value this time
          case 1:
            values.push_back(0);
            break;
          case 2:
            values.push_back(std::numeric_limits<double>::quiet_NaN());
            break;
          default:
            values.push_back(static_cast<double>(random() % 1000) - 500);
        }
      }
      decision = DecideStop(rule, series, n, absl::Seconds(n));
    }
  }
}

TEST(StopRuleTest, NamesItsReasons) {
  EXPECT_EQ(StopReasonName(StopReason::kPrecise), "precise");
  EXPECT_EQ(StopReasonName(StopReason::kCap), "cap");
  EXPECT_EQ(StopReasonName(StopReason::kBudget), "budget");
  EXPECT_EQ(StopReasonName(StopReason::kAsked), "asked");
  EXPECT_EQ(StopReasonName(StopReason::kNoisy), "noisy");
  EXPECT_EQ(StopReasonName(StopReason::kNone), "");
}

}  // namespace
}  // namespace fleetmark
