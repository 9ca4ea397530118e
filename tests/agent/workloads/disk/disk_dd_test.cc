#include "agent/workloads/disk/disk_dd.h"

#include <string>

#include "gmock/gmock.h"
#include "tests/agent/workloads/disk/target_fixture.h"

namespace fleetmark::agent {
namespace {

using test::NumberParameter;

constexpr double kBytes = 32 * 1048576.0;

class DiskDdTest : public TargetFixture {
 protected:
  void RunDd(v1::Repetition& repetition) {
    Begin(DiskDdEntry(), {{"size", NumberParameter(kBytes)}});
    absl::Status status = workload_->Prepare(*context_);
    ASSERT_TRUE(status.ok()) << status;
    status = workload_->RunOnce(*context_, repetition);
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(DiskDdTest, RunsTheEightStepsInTheirOrder) {
  if (!MakeTarget(uint64_t{128} << 20)) return;
  v1::Repetition repetition;
  RunDd(repetition);
  std::vector<std::string> metrics;
  for (const v1::Measurement& measurement : repetition.measurements()) {
    metrics.push_back(measurement.metric());
    SCOPED_TRACE(measurement.metric());
    ASSERT_TRUE(measurement.has_value());
    EXPECT_EQ(measurement.asked_bytes(), measurement.metric() == "null_copy" ? 0 : kBytes);
    EXPECT_NEAR(measurement.value() * measurement.elapsed_seconds(), kBytes, kBytes * 0.01);
    EXPECT_TRUE(measurement.latency_histogram().empty());
  }
  EXPECT_THAT(metrics, ::testing::ElementsAre("null_copy", "write.pass1", "read.pass1", "read.pass2", "write.pass2",
                                              "durable_write", "uncached_read", "direct_read"));
  EXPECT_EQ(FilesLeft(), 0u);
}

// C-001, C-004: a reread from the page cache says so; a direct read is none.
TEST_F(DiskDdTest, CachedRereadIsFlaggedAndDirectReadIsNot) {
  if (!MakeTarget(uint64_t{128} << 20)) return;
  v1::Repetition repetition;
  RunDd(repetition);
  for (const char* metric : {"read.pass1", "read.pass2"}) {
    SCOPED_TRACE(metric);
    const v1::Measurement& cached = *Find(repetition, metric);
    EXPECT_TRUE(cached.classic());
    EXPECT_GT(cached.cached_fraction(), 0.9);
    EXPECT_TRUE(HasFlag(cached, "cached"));
    EXPECT_GT(cached.residency_before(), 0.9);
  }
  for (const char* metric : {"uncached_read", "direct_read"}) {
    SCOPED_TRACE(metric);
    const v1::Measurement& honest = *Find(repetition, metric);
    EXPECT_FALSE(honest.classic());
    EXPECT_LT(honest.cached_fraction(), 0.05);
    EXPECT_FALSE(HasFlag(honest, "cached")) << Flags(honest);
    EXPECT_GE(honest.device_bytes(), kBytes * 0.95);
    EXPECT_LT(honest.residency_before(), 0.05);
  }
  EXPECT_LT(Find(repetition, "direct_read")->residency_after(), 0.05);
}

// C-006: the classic write is marked with what the device had not got, and stands beside its durable twin.
TEST_F(DiskDdTest, ClassicWriteIsUnsyncedAndDurableWriteIsNot) {
  if (!MakeTarget(uint64_t{128} << 20)) return;
  v1::Repetition repetition;
  RunDd(repetition);
  for (const char* metric : {"write.pass1", "write.pass2"}) {
    SCOPED_TRACE(metric);
    const v1::Measurement& classic = *Find(repetition, metric);
    EXPECT_TRUE(classic.has_flush_seconds());
    EXPECT_GT(classic.flush_seconds(), 0);
    EXPECT_TRUE(HasFlag(classic, "unsynced")) << Flags(classic);
  }
  const v1::Measurement& durable = *Find(repetition, "durable_write");
  EXPECT_LT(durable.unsynced_fraction(), 0.05);
  EXPECT_FALSE(HasFlag(durable, "unsynced"));
  EXPECT_GT(durable.flush_seconds(), 0);
  EXPECT_GT(durable.elapsed_seconds(), durable.flush_seconds());
  EXPECT_EQ(durable.derived_parameters().at("buffer_pattern").text(), "random");
  EXPECT_EQ(Find(repetition, "write.pass1")->derived_parameters().at("buffer_pattern").text(), "zeros");
}

TEST_F(DiskDdTest, SamplesAddUpToTheBytes) {
  if (!MakeTarget(uint64_t{128} << 20)) return;
  v1::Repetition repetition;
  RunDd(repetition);
  ASSERT_EQ(context_->samples.size(), 8u);
  for (const v1::SampleBatch& batch : context_->samples) {
    double bytes = 0;
    for (int i = 0; i < batch.values_size(); ++i) bytes += batch.values(i) * batch.offset_deltas_us(i) / 1e6;
    EXPECT_NEAR(bytes, kBytes, kBytes * 0.01) << batch.metric();
  }
}

TEST_F(DiskDdTest, CancelEndsItAndLeavesNothing) {
  if (!MakeTarget(uint64_t{128} << 20)) return;
  Begin(DiskDdEntry(), {{"size", NumberParameter(kBytes)}});
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  context_->cancel = true;
  v1::Repetition repetition;
  EXPECT_EQ(workload_->RunOnce(*context_, repetition).code(), absl::StatusCode::kCancelled);
  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

}  // namespace
}  // namespace fleetmark::agent
