#include "agent/workloads/disk/phase_meter.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "tests/agent/workloads/disk/target_fixture.h"

namespace fleetmark::agent {
namespace {

PhaseFacts Facts(double elapsed, double planned, uint64_t operations, uint64_t bytes) {
  PhaseFacts facts;
  facts.elapsed_seconds = elapsed;
  facts.planned_seconds = planned;
  facts.operations = operations;
  facts.asked_bytes = bytes;
  return facts;
}

constexpr uint64_t kMebibyte = 1048576;

// C-010
TEST(TooShortTest, ByTheRule) {
  EXPECT_FALSE(TooShort(Facts(5.0, 5.0, 100000, 400 * kMebibyte)));
  EXPECT_FALSE(TooShort(Facts(4.6, 5.0, 100000, 400 * kMebibyte)));
  EXPECT_TRUE(TooShort(Facts(4.4, 5.0, 100000, 400 * kMebibyte)));    // less than 0.9 of the plan
  EXPECT_TRUE(TooShort(Facts(0.29, 0.29, 100000, 400 * kMebibyte)));  // less than 3 intervals
  EXPECT_TRUE(TooShort(Facts(1, 1, 16, 65536)));                      // few and small
  EXPECT_FALSE(TooShort(Facts(1, 1, 30, 122880)));
  EXPECT_FALSE(TooShort(Facts(1, 1, 8, 64 * kMebibyte)));          // few, but many bytes
  EXPECT_TRUE(TooShort(Facts(0.002, 0.002, 16, 16 * kMebibyte)));  // 16 operations in 2 ms
  PhaseFacts no_plan = Facts(1, 0, 1000, 64 * kMebibyte);
  no_plan.planned_seconds.reset();
  EXPECT_FALSE(TooShort(no_plan));
}

// C-012: no operations, no value, no fractions, no flags: a reason.
TEST(PhaseMeterTest, ZeroOperationsAreMissingNotZero) {
  PhaseMeter meter(StorageStack{}, 0);
  meter.Open(-1, 0);
  meter.Start();
  meter.Stop();
  v1::Measurement measurement;
  meter.Describe(Facts(0, 1, 0, 0), measurement);
  EXPECT_FALSE(measurement.has_value());
  EXPECT_NE(measurement.missing_reason().find("no operations"), std::string::npos);
  EXPECT_FALSE(measurement.has_cached_fraction());
  EXPECT_EQ(measurement.flags_size(), 0);
}

// Without a counter a value is unverified: no fraction, and no flag either.
TEST(PhaseMeterTest, NoCounterIsUnverifiedNotInvalid) {
  PhaseMeter meter(StorageStack{}, 0);
  meter.Open(-1, 0);
  meter.Start();
  meter.Stop();
  PhaseFacts facts = Facts(1, 1, 1000, 64 * kMebibyte);
  facts.metered_read_bytes = 32 * kMebibyte;
  facts.metered_written_bytes = 32 * kMebibyte;
  v1::Measurement measurement;
  meter.Describe(facts, measurement);
  EXPECT_FALSE(measurement.has_cached_fraction());
  EXPECT_FALSE(measurement.has_unsynced_fraction());
  EXPECT_FALSE(measurement.has_device_bytes());
  EXPECT_EQ(measurement.flags_size(), 0);
}

// C-022: a backup that starts in the middle of a measurement.
class ForeignTest : public TargetFixture {};
TEST_F(ForeignTest, WhatOthersMoveOnTheDiskIsFlagged) {
  if (!MakeTarget(64 * kMebibyte)) return;
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack(image_->path());
  ASSERT_TRUE(stack.ok()) << stack.status();
  for (const bool is_busy : {false, true}) {
    PhaseMeter meter(*stack, 0);
    meter.Start();
    if (is_busy) {
      const std::string copy = "dd if=/dev/zero of='" + scratch() + "/backup' bs=1M count=8 conv=fsync 2>/dev/null";
      ASSERT_EQ(std::system(copy.c_str()), 0);
    }
    meter.Stop();
    PhaseFacts facts = Facts(1, 1, 1000, 64 * kMebibyte);
    v1::Measurement reading;
    meter.Describe(facts, reading);
    ASSERT_TRUE(reading.has_foreign_disk_bytes_per_second());
    EXPECT_EQ(HasFlag(reading, "busy"), is_busy) << Flags(reading);
    facts.metered_written_bytes =
        8 * kMebibyte;  // its own writes are not foreign, however many the file system makes of them
    v1::Measurement writing;
    meter.Describe(facts, writing);
    EXPECT_FALSE(HasFlag(writing, "busy")) << Flags(writing);
  }
}

// C-009
TEST(PhaseMeterTest, OverrunIsShown) {
  PhaseMeter meter(StorageStack{}, 0);
  meter.Open(-1, 0);
  meter.Start();
  meter.Stop();
  v1::Measurement measurement;
  meter.Describe(Facts(1.2, 1.0, 1000, 64 * kMebibyte), measurement);
  ASSERT_EQ(measurement.flags_size(), 1);
  EXPECT_EQ(measurement.flags(0).name(), "overrun");
  EXPECT_EQ(measurement.elapsed_seconds(), 1.2);
}

}  // namespace
}  // namespace fleetmark::agent
