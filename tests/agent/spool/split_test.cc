#include "agent/spool/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

TEST(SplitToFitTest, LeavesWhatFitsAlone) {
  v1::Record record;
  record.mutable_repetition()->set_number(3);
  const auto parts = SplitToFit(record);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].repetition().number(), 3u);
  EXPECT_EQ(parts[0].repetition().flags_size(), 0);
}

// C-134: a million samples, about 12 MB.
TEST(SplitToFitTest, CutsSamplesIntoMessagesThatFitAndKeepsEveryStamp) {
  v1::Record record;
  v1::SampleBatch* samples = record.mutable_samples();
  samples->set_metric("write");
  samples->set_start_unix_seconds(1000);
  for (int i = 0; i < 1'000'000; ++i) {
    samples->add_offset_deltas_us(1000);
    samples->add_values(i);
  }
  const auto parts = SplitToFit(record);
  EXPECT_GT(parts.size(), 10u);
  int next = 0;
  double time = 1000;
  for (const v1::Record& part : parts) {
    EXPECT_LE(part.ByteSizeLong(), kMaxRecordBytes);
    ASSERT_EQ(part.samples().values_size(), part.samples().offset_deltas_us_size());
    EXPECT_NEAR(part.samples().start_unix_seconds(), time, 1e-4);
    for (int i = 0; i < part.samples().values_size(); ++i) ASSERT_EQ(part.samples().values(i), next++);
    time = 1000 + next * 1e-3;
  }
  EXPECT_EQ(next, 1'000'000);
}

// C-134: a histogram of several megabytes.
TEST(SplitToFitTest, LeavesOutHistogramsThatDoNotFitAndSaysSo) {
  v1::Record record;
  v1::Repetition* repetition = record.mutable_repetition();
  v1::Measurement* small = repetition->add_measurements();
  small->set_metric("a");
  small->set_value(1);
  small->set_latency_histogram(std::string(1000, 's'));
  v1::Measurement* large = repetition->add_measurements();
  large->set_metric("b");
  large->set_value(2);
  large->set_latency_histogram(std::string(4 << 20, 'l'));
  const auto parts = SplitToFit(record);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_LE(parts[0].ByteSizeLong(), kMaxRecordBytes);
  const v1::Repetition& kept = parts[0].repetition();
  ASSERT_EQ(kept.measurements_size(), 2);
  EXPECT_EQ(kept.measurements(0).latency_histogram().size(), 1000u);
  EXPECT_EQ(kept.measurements(1).latency_histogram().size(), 0u);
  EXPECT_EQ(kept.measurements(1).value(), 2);
  EXPECT_EQ(kept.flags(0).name(), "upload_failed");
  EXPECT_THAT(kept.flags(0).evidence(), HasSubstr("1 latency histograms, 0 measurements"));
}

TEST(SplitToFitTest, CutsALongReason) {
  v1::Record record;
  record.mutable_finished()->set_reason(std::string(2 << 20, 'r'));
  const auto parts = SplitToFit(record);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_LE(parts[0].ByteSizeLong(), kMaxRecordBytes);
}

}  // namespace
}  // namespace fleetmark::agent
