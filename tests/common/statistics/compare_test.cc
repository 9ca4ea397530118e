#include "common/statistics/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace fleetmark {
namespace {

using testing::ElementsAre;
using Values = std::vector<double>;
using Optionals = std::vector<std::optional<double>>;

constexpr Direction kHigher = Direction::kHigherIsBetter;
constexpr Direction kLower = Direction::kLowerIsBetter;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RatioToBaselineTest, SaysWhyThereIsNone) {  // C-038
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(0, 100)), "n/a (baseline 0)");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(std::nullopt, 100)), "n/a (no baseline)");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(0, 0)), "equal");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(100, std::nullopt)), "-");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(kNan, 100)), "n/a (no baseline)");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(1e-300, 1e300)), "n/a (baseline 0)");
  EXPECT_EQ(BaselineRatioText(RatioToBaseline(1680, 760)), "0.45x");
}

TEST(NormalizedRatioTest, TurnsLowerIsBetterAround) {  // C-031
  EXPECT_EQ(NormalizedRatio(RatioToBaseline(4, 2), kLower), 2);
  EXPECT_EQ(NormalizedRatio(RatioToBaseline(4, 2), kHigher), 0.5);
  EXPECT_EQ(NormalizedRatio(RatioToBaseline(0, 0), kHigher), 1);
  EXPECT_FALSE(NormalizedRatio(RatioToBaseline(4, 2), Direction::kNone).has_value());
  EXPECT_FALSE(NormalizedRatio(RatioToBaseline(4, 0), kLower).has_value());
}

TEST(JudgeTest, KnowsTheDirection) {                             // C-029
  EXPECT_EQ(Judge(4e-3, 3e-3, kLower, 0.03), Verdict::kBetter);  // p99 latency
  EXPECT_EQ(Judge(100, 80, kHigher, 0.03), Verdict::kWorse);     // throughput
  EXPECT_EQ(Judge(0, 5, kLower, 0.03), Verdict::kWorse);         // failed operations
  EXPECT_EQ(Judge(100, 80, Direction::kNone, 0.03), Verdict::kNone);
}

TEST(JudgeTest, SaysSameOnlyWithinTheBand) {  // C-039
  EXPECT_EQ(Judge(1680, 760, kLower, 0.03), Verdict::kBetter);
  EXPECT_EQ(Judge(1680, 840, kLower, 0.03), Verdict::kBetter);
  EXPECT_EQ(Judge(1680, 1816, kLower, 0.03), Verdict::kWorse);
  EXPECT_EQ(Judge(1680, 1720, kLower, 0.03), Verdict::kSame);
  EXPECT_EQ(Judge(0, 0, kLower, 0.03), Verdict::kSame);
}

TEST(JudgeTest, IsSymmetric) {  // C-048
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const double a = static_cast<double>(random() % 200) - 20;
    const double b = static_cast<double>(random() % 200) - 20;
    for (const Direction direction : {kHigher, kLower}) {
      ASSERT_EQ(Judge(a, b, direction, 0.03), Mirror(Judge(b, a, direction, 0.03))) << a << " " << b;
    }
  }
}

TEST(CompareTest, DoesNotAnnounceNoise) {  // C-048
  const Values a = {480, 490, 500, 510, 520};
  const Values b = {483, 494, 505, 516, 527};
  const Comparison comparison = Compare(a, b, kHigher);
  EXPECT_EQ(comparison.verdict, Verdict::kSame);
  EXPECT_EQ(comparison.reason, "intervals overlap");
  EXPECT_EQ(comparison.difference, 5);
  EXPECT_EQ(Compare(b, a, kHigher).verdict, Verdict::kSame);
  EXPECT_EQ(Compare(b, a, kHigher).difference, -5);
}

TEST(CompareTest, CannotTellWhereWideIntervalsOverlap) {
  const Values a = {400, 500, 600};
  const Values b = {450, 560, 650};
  EXPECT_EQ(Compare(a, b, kHigher).verdict, Verdict::kCannotTell);
}

TEST(CompareTest, SeesAClearDifference) {
  const Values a = {100, 101, 102};
  const Values b = {200, 201, 202};
  EXPECT_EQ(Compare(a, b, kHigher).verdict, Verdict::kBetter);
  EXPECT_EQ(Compare(a, b, kLower).verdict, Verdict::kWorse);
  EXPECT_EQ(Compare(a, b, kHigher).reason, "");
}

TEST(CompareTest, OneRunHasNoVerdict) {  // C-034
  const Comparison comparison = Compare(Values{100}, Values{200, 201}, kHigher);
  EXPECT_EQ(comparison.verdict, Verdict::kCannotTell);
  EXPECT_EQ(comparison.reason, "single run");
  EXPECT_EQ(comparison.ratio.ratio, 2.005);
}

TEST(CompareTest, TwoRepetitionsAreTooFewForAVerdict) {  // C-048
  const Comparison comparison = Compare(Values{100, 101}, Values{200, 201, 202}, kHigher);
  EXPECT_EQ(comparison.verdict, Verdict::kCannotTell);
  EXPECT_EQ(comparison.reason, "fewer than 3 repetitions");
}

TEST(CompareTest, ReportsTheDifferenceWithoutSpread) {  // C-034
  const Comparison near = Compare(Values{10, 10, 10}, Values{10.1, 10.1, 10.1}, kHigher);
  EXPECT_EQ(near.verdict, Verdict::kSame);
  EXPECT_EQ(near.reason, "no spread measured");
  EXPECT_NEAR(*near.difference, 0.1, 1e-9);
  EXPECT_EQ(Compare(Values{10, 10, 10}, Values{20, 20, 20}, kHigher).verdict, Verdict::kBetter);
}

TEST(CompareTest, ARunComparedWithItselfIsEqual) {
  for (const Values& values : {Values{1}, Values{1, 5, 9}, Values{0, 0}}) {
    EXPECT_EQ(Compare(values, values, kHigher).verdict, Verdict::kSame);
    EXPECT_EQ(Compare(values, values, kHigher).reason, "equal");
  }
}

TEST(CompareTest, GivesNoVerdictWithoutValuesOrDirection) {
  EXPECT_EQ(Compare(Values{}, Values{1, 2}, kHigher).verdict, Verdict::kNone);
  EXPECT_EQ(Compare(Values{}, Values{1, 2}, kHigher).reason, "no baseline");
  EXPECT_EQ(Compare(Values{1, 2}, Values{}, kHigher).reason, "no value");
  EXPECT_EQ(Compare(Values{1, 2}, Values{3, 4}, Direction::kNone).verdict, Verdict::kNone);
  EXPECT_EQ(Compare(Values{1, kNan}, Values{3, 4}, kHigher).verdict, Verdict::kNone);
}

TEST(CompareTest, IsSymmetric) {  // C-048
  std::mt19937_64 random(12);
  for (int i = 0; i < 5000; ++i) {
    Values a(1 + random() % 9), b(1 + random() % 9);
    for (double& v : a) v = 90 + static_cast<double>(random() % 20);
    for (double& v : b) v = 95 + static_cast<double>(random() % 20);
    const Comparison forth = Compare(a, b, kLower);
    const Comparison back = Compare(b, a, kLower);
    ASSERT_EQ(forth.verdict, Mirror(back.verdict));
    ASSERT_EQ(*forth.difference, -*back.difference);
  }
}

TEST(RankTest, PutsTheUnknownLastBothWays) {  // C-152
  const Optionals values = {std::nullopt, 2.0, 1.0, std::nullopt, 3.0};
  EXPECT_THAT(*Rank(values, kHigher), ElementsAre(4, 1, 2, 0, 3));
  EXPECT_THAT(*Rank(values, kLower), ElementsAre(2, 1, 4, 0, 3));
  EXPECT_THAT(*SortedOrder(values, true), ElementsAre(4, 1, 2, 0, 3));
  EXPECT_THAT(*SortedOrder(values, false), ElementsAre(2, 1, 4, 0, 3));
}

TEST(RankTest, NanNeverWins) {  // C-043
  EXPECT_EQ(Rank(Optionals{kNan, 2.0, 1.0}, kHigher).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Rank(Optionals{std::numeric_limits<double>::infinity()}, kHigher).ok());
  EXPECT_FALSE(Rank(Optionals{1.0}, Direction::kNone).ok());
  EXPECT_THAT(*Rank(Optionals{std::nullopt, 2.0, 1.0}, kHigher), ElementsAre(1, 2, 0));
}

TEST(VerdictTest, HasWords) {
  EXPECT_EQ(VerdictText(Verdict::kBetter), "better");
  EXPECT_EQ(VerdictText(Verdict::kWorse), "worse");
  EXPECT_EQ(VerdictText(Verdict::kSame), "same");
  EXPECT_EQ(VerdictText(Verdict::kCannotTell), "cannot tell");
  EXPECT_EQ(VerdictText(Verdict::kNone), "");
}

}  // namespace
}  // namespace fleetmark
