#include "common/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/histogram/histogram.h"

namespace fleetmark {
namespace {

using ::testing::ElementsAre;

v1::Repetition Rep(uint32_t number, double value) {
  v1::Repetition repetition;
  repetition.set_number(number);
  v1::Measurement& measurement = *repetition.add_measurements();
  measurement.set_metric("read");
  measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
  measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measurement.set_value(value);
  return repetition;
}

void Flag(v1::Repetition& repetition, const std::string& name) {
  v1::Flag& flag = *repetition.mutable_measurements(0)->add_flags();
  flag.set_name(name);
  flag.set_evidence("because");
}

TEST(SummarizeRepetitionsTest, MedianOfWhatCountsWithoutWarmups) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 999), Rep(1, 10), Rep(2, 30), Rep(3, 20)};
  repetitions[0].set_warmup(true);
  const std::vector<MetricSummary> summaries = SummarizeRepetitions(repetitions);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].metric, "read");
  EXPECT_EQ(summaries[0].summary.median, 20);
  EXPECT_EQ(summaries[0].range->low, 10);
  EXPECT_EQ(summaries[0].range->high, 30);
  EXPECT_FALSE(summaries[0].range_is_interval);
  EXPECT_FALSE(summaries[0].flagged);
}

TEST(SummarizeRepetitionsTest, FlaggedValuesAreLeftOutAndCounted) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 10), Rep(2, 1000), Rep(3, 20)};
  Flag(repetitions[1], "cached");
  const MetricSummary summary = SummarizeRepetitions(repetitions)[0];
  EXPECT_THAT(summary.values, ElementsAre(10, 20));
  EXPECT_EQ(summary.excluded, 1u);
  EXPECT_FALSE(summary.flagged);
  EXPECT_EQ(summary.flags.at("cached"), "because");
}

TEST(SummarizeRepetitionsTest, WhereAllAreFlaggedTheyAreShownAllTheSame) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 10), Rep(2, 20)};
  for (v1::Repetition& repetition : repetitions) repetition.add_flags()->set_name("busy");
  const MetricSummary summary = SummarizeRepetitions(repetitions)[0];
  EXPECT_EQ(summary.summary.median, 15);
  EXPECT_TRUE(summary.flagged);
  EXPECT_EQ(summary.excluded, 0u);
  EXPECT_EQ(summary.flags.count("busy"), 1u);
}

// C-012, C-043
TEST(SummarizeRepetitionsTest, WhatWasNotMeasuredIsAbsentWithItsReason) {
  std::vector<v1::Repetition> repetitions = {Rep(1, std::numeric_limits<double>::quiet_NaN()), Rep(2, 5)};
  repetitions[1].mutable_measurements(0)->clear_value();
  repetitions[1].mutable_measurements(0)->set_missing_reason("no operations");
  const MetricSummary summary = SummarizeRepetitions(repetitions)[0];
  EXPECT_TRUE(summary.values.empty());
  EXPECT_EQ(summary.summary.median, std::nullopt);
  EXPECT_EQ(summary.range, std::nullopt);
  EXPECT_EQ(summary.missing_reason, "no operations");
}

TEST(SummarizeRepetitionsTest, MergesHistogramsAndMeansCpu) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 10), Rep(2, 20)};
  for (v1::Repetition& repetition : repetitions) {
    LatencyHistogram histogram;
    for (int i = 0; i < 1000; ++i) histogram.Record(int64_t{1000} * repetition.number());
    v1::Measurement& measurement = *repetition.mutable_measurements(0);
    measurement.set_latency_histogram(histogram.Serialize());
    measurement.set_elapsed_seconds(2);
    measurement.set_process_cpu_seconds(0.5);
  }
  const MetricSummary summary = SummarizeRepetitions(repetitions)[0];
  EXPECT_NEAR(*summary.latency_p50_seconds, 1e-6, 1e-8);
  EXPECT_NEAR(*summary.latency_p99_seconds, 2e-6, 2e-8);
  EXPECT_DOUBLE_EQ(*summary.cpu_percent, 25);
}

TEST(SummarizeRepetitionsTest, NoCounterMeansUnverified) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 10)};
  EXPECT_FALSE(SummarizeRepetitions(repetitions)[0].unverified);
  repetitions[0].mutable_measurements(0)->set_asked_bytes(100);
  EXPECT_TRUE(SummarizeRepetitions(repetitions)[0].unverified);
  repetitions[0].mutable_measurements(0)->set_device_bytes(100);
  EXPECT_FALSE(SummarizeRepetitions(repetitions)[0].unverified);
}

// Every flag that the agent may set; a letter in a table that nobody can read up is no reason to doubt.
TEST(ExplainFlagTest, EveryFlagHasItsWords) {
  for (const char* flag :
       {"array < 4 × LLC", "busy", "cached", "clock-suspect", "direct not effective", "implausible", "leftovers",
        "memory-backed", "noisy", "overrun", "swapped", "throttled", "too_short", "unsynced", "upload_failed"}) {
    EXPECT_NE(ExplainFlag(flag), "") << flag;
  }
  EXPECT_EQ(ExplainFlag("of a newer agent"), "");
}

TEST(SeriesForStopRuleTest, HoldsOnlyWhatMayDecide) {
  std::vector<v1::Repetition> repetitions = {Rep(1, 10), Rep(2, 20), Rep(3, 30)};
  Flag(repetitions[0], "cached");
  repetitions[1].mutable_measurements(0)->set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  v1::Measurement& descriptive = *repetitions[1].add_measurements();
  descriptive.set_metric("size");
  descriptive.set_value(7);
  descriptive.set_direction(v1::DIRECTION_NONE);
  const std::vector<std::vector<double>> series = SeriesForStopRule(repetitions);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_THAT(series[0], ElementsAre(20, 30));
}

}  // namespace
}  // namespace fleetmark
