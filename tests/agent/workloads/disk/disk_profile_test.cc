#include "agent/workloads/disk/disk_profile.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "agent/workloads/disk/profile_jobs.h"
#include "common/histogram/histogram.h"
#include "gmock/gmock.h"
#include "tests/agent/workloads/disk/target_fixture.h"
#include "tests/support/temp_directory.h"
#include "tests/support/throttle.h"

namespace fleetmark::agent {
namespace {

using test::NumberParameter;
using test::TextParameter;
using ::testing::HasSubstr;

class DiskProfileTest : public TargetFixture {
 protected:
  void BeginProfile(const std::string& operations, double seconds = 0.35, const std::string& preset = "default") {
    Begin(DiskProfileEntry(), {{"size", NumberParameter(16 * kMiB)},
                               {"seconds", NumberParameter(seconds)},
                               {"ramp", NumberParameter(0.05)},
                               {"operations", TextParameter(operations)},
                               {"preset", TextParameter(preset)}});
  }
};

// On a slow disk the operations in flight are a large part of what a short window moves.
TEST_F(DiskProfileTest, WhatWasInFlightWhenTheWindowOpenedIsNotCached) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("read", 0.8);
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  absl::StatusOr<test::Throttle> throttle = test::Throttle::Begin(image_->device().name(), 40 << 20);
  if (!throttle.ok()) GTEST_SKIP() << throttle.status().message();
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  ASSERT_TRUE(status.ok()) << status;
  const v1::Measurement* measurement = Find(repetition, "seq1m_q8t1.read.bandwidth");
  ASSERT_NE(measurement, nullptr);
  EXPECT_NEAR(measurement->value(), 40 << 20, 0.15 * (40 << 20)) << "the throttle works";
  EXPECT_FALSE(HasFlag(*measurement, "cached")) << Flags(*measurement);
  EXPECT_LT(measurement->cached_fraction(), 0.02);
}

TEST_F(DiskProfileTest, MeasuresEveryJobAndLeavesNothing) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("all");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  EXPECT_EQ(context_->room_asked, static_cast<uint64_t>(16 * kMiB));
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  ASSERT_TRUE(status.ok()) << status;

  ASSERT_EQ(repetition.measurements_size(), 4 * 3 * 2);
  double measured = 0;
  for (const v1::Measurement& measurement : repetition.measurements()) {
    SCOPED_TRACE(measurement.metric());
    ASSERT_TRUE(measurement.has_value());
    EXPECT_TRUE(std::isfinite(measurement.value()));
    EXPECT_GT(measurement.value(), 0);
    EXPECT_EQ(measurement.direction(), v1::DIRECTION_HIGHER_IS_BETTER);
    // bytes = rate x elapsed
    const bool bandwidth = measurement.unit() == v1::UNIT_BYTES_PER_SECOND;
    const double amount = bandwidth ? measurement.asked_bytes() : measurement.operations();
    EXPECT_NEAR(measurement.value() * measurement.elapsed_seconds(), amount, amount * 0.01);
    // The device moved it: direct I/O cannot be served by the cache.
    EXPECT_FALSE(HasFlag(measurement, "cached")) << Flags(measurement);
    EXPECT_FALSE(HasFlag(measurement, "unsynced")) << Flags(measurement);
    EXPECT_FALSE(HasFlag(measurement, "direct not effective"));
    EXPECT_TRUE(measurement.derived_parameters().contains("engine"));
    if (bandwidth) {
      measured += measurement.elapsed_seconds();
      continue;
    }
    const auto latency = LatencyHistogram::Deserialize(measurement.latency_histogram());
    ASSERT_TRUE(latency.ok());
    EXPECT_EQ(static_cast<double>(latency->count()), measurement.operations());
    EXPECT_LE(latency->Percentile(50).seconds.value(), latency->max_seconds().value());
  }
  // C-008: filling the file is neither in the rates nor in the measured time.
  EXPECT_GE(repetition.measure_seconds(), measured);
  EXPECT_LT(repetition.prepare_seconds(), 1);
  EXPECT_EQ(context_->derived.at("direct_effective").flag(), true);
  EXPECT_EQ(context_->derived.at("direct_requested").flag(), true);
  ASSERT_EQ(repetition.flags_size(), 1);
  EXPECT_EQ(repetition.flags(0).name(), "memory-backed");

  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(DiskProfileTest, SamplesAddUpToTheBytes) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("read");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  v1::Repetition repetition;
  ASSERT_TRUE(workload_->RunOnce(*context_, repetition).ok());
  ASSERT_EQ(context_->samples.size(), 4u);
  for (const v1::SampleBatch& batch : context_->samples) {
    SCOPED_TRACE(batch.metric());
    const v1::Measurement* measurement = Find(repetition, batch.metric());
    ASSERT_NE(measurement, nullptr);
    ASSERT_EQ(batch.values_size(), batch.offset_deltas_us_size());
    double bytes = 0;
    for (int i = 0; i < batch.values_size(); ++i) bytes += batch.values(i) * batch.offset_deltas_us(i) / 1e6;
    EXPECT_NEAR(bytes, measurement->asked_bytes(), measurement->asked_bytes() * 0.01);
  }
}

// C-005, C-002: every block of the file is written, with data that repeats nowhere.
TEST_F(DiskProfileTest, FillsTheFileWithUniqueBlocks) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("read");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  const int fd = open((scratch() + "/fleetmark-profile.dat").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::set<std::string> blocks;
  std::vector<char> block(4096);
  while (read(fd, block.data(), block.size()) == 4096) blocks.emplace(block.data(), block.size());
  close(fd);
  EXPECT_EQ(blocks.size(), static_cast<size_t>(16 * kMiB / 4096));
}

// A repetition that writes must not leave its traces to the next.
TEST_F(DiskProfileTest, MakesTheFileAgainAfterARepetitionThatWrote) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("write", 0.1);
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  context_->steps.clear();
  v1::Repetition first, second;
  ASSERT_TRUE(workload_->RunOnce(*context_, first).ok());
  EXPECT_THAT(context_->steps, ::testing::Not(::testing::Contains("filling the file")));
  ASSERT_TRUE(workload_->RunOnce(*context_, second).ok());
  EXPECT_THAT(context_->steps, ::testing::Contains("filling the file"));
  EXPECT_GT(second.prepare_seconds(), first.prepare_seconds());
}

TEST_F(DiskProfileTest, NvmePresetNeedsItsThreads) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("read", 0.1, "nvme");
  context_->threads = 2;
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  v1::Repetition repetition;
  ASSERT_TRUE(workload_->RunOnce(*context_, repetition).ok());
  const v1::Measurement* missing = Find(repetition, "rnd4k_q32t16.read.iops");
  ASSERT_NE(missing, nullptr);
  EXPECT_FALSE(missing->has_value());
  EXPECT_THAT(missing->missing_reason(), HasSubstr("needs 16 threads, this agent allows 2"));
  ASSERT_NE(Find(repetition, "seq128k_q32t1.read.bandwidth"), nullptr);
  EXPECT_TRUE(Find(repetition, "seq128k_q32t1.read.bandwidth")->has_value());
}

TEST_F(DiskProfileTest, CancelEndsItAndLeavesNothing) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile("all", 3000);
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  context_->cancel_after_looks = 20;
  v1::Repetition repetition;
  EXPECT_EQ(workload_->RunOnce(*context_, repetition).code(), absl::StatusCode::kCancelled);
  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

// C-003: refused by type, whatever open() says.
TEST(DiskProfileRefusesTest, TargetInMemory) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm cannot be written";
  const test::TempDirectory target("/dev/shm");
  test::FakeWorkContext context(DiskProfileEntry().descriptor, {});
  context.target = target.path();
  context.scratch = target.path();
  const auto workload = DiskProfileEntry().make();
  const absl::Status status = workload->Prepare(context);
  if (status.ok()) GTEST_SKIP() << "/dev/shm is not in memory here";
  EXPECT_TRUE(agent::IsSkipped(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("target is in memory"));
  workload->Cleanup(context);
}

// C-009: both values are in the message, and the descriptor says it, so that nothing is started.
TEST(DiskProfileRefusesTest, RampAsLongAsTheJob) {
  const absl::Status status =
      ResolveParameters(DiskProfileEntry().descriptor, {{"seconds", NumberParameter(1)}, {"ramp", NumberParameter(5)}})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ramp (5 s)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("seconds (1 s)"));
}

TEST(DiskProfileRefusesTest, SizeThatIsNoMultipleOfAMebibyte) {
  const absl::Status status =
      ResolveParameters(DiskProfileEntry().descriptor, {{"size", NumberParameter(17e6)}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("multiple of 1 MiB"));
}

// C-094 (a)
TEST(DiskProfileRefusesTest, TooLittleRoom) {
  const test::TempDirectory target(test::DirectoryOnDisk());
  test::FakeWorkContext context(DiskProfileEntry().descriptor, {});
  context.target = context.scratch = target.path();
  context.room = SkippedError("needs 1.1 GB and 1.1 GB of reserve, 0.5 GB are free");
  const auto workload = DiskProfileEntry().make();
  const absl::Status status = workload->Prepare(context);
  EXPECT_TRUE(agent::IsSkipped(status)) << status;
  EXPECT_EQ(context.room_asked, uint64_t{1} << 30);
}

TEST(DiskProfileDescriptorTest, EveryMetricHasUnitDirectionAndAnUnusedName) {
  std::set<std::string> names;
  for (const v1::MetricDescriptor& metric : DiskProfileEntry().descriptor.metrics()) {
    EXPECT_TRUE(names.insert(metric.name()).second) << metric.name();
    EXPECT_NE(metric.unit(), v1::UNIT_UNSPECIFIED);
    EXPECT_NE(metric.direction(), v1::DIRECTION_UNSPECIFIED);
  }
  EXPECT_TRUE(names.count("seq1m_q8t1.read.bandwidth") == 1 && names.count("rnd4k_q32t1.mix.iops") == 1);
}

TEST(ProfileJobsTest, OperationsThatAChoiceSelects) {
  const auto selected = [](const std::string& choice) {
    std::string names;
    for (const ProfileOperation& operation : ProfileOperations()) {
      if (Selects(choice, operation)) names += std::string(operation.name) + " ";
    }
    return names;
  };
  EXPECT_EQ(selected("read"), "read ");
  EXPECT_EQ(selected("write"), "write ");
  EXPECT_EQ(selected("readwrite"), "read write ");
  EXPECT_EQ(selected("all"), "read write mix ");
}

}  // namespace
}  // namespace fleetmark::agent
