#include "agent/workloads/memory/memory_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "agent/platform/machine.h"
#include "agent/workloads/memory/stream_kernels.h"
#include "tests/support/fake_work_context.h"

namespace fleetmark::agent {
namespace {

using test::FakeWorkContext;
using test::NumberParameter;

class MemoryStreamTest : public testing::Test {
 protected:
  const v1::WorkloadDescriptor& descriptor() const { return MemoryStreamEntry().descriptor; }
  std::map<std::string, v1::ParameterValue> Small(double threads = 2) const {
    return {{"size", NumberParameter(4 << 20)}, {"threads", NumberParameter(threads)}, {"passes", NumberParameter(3)}};
  }
};

TEST_F(MemoryStreamTest, MeasuresEveryMetricItDeclares) {
  FakeWorkContext context(descriptor(), Small());
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  v1::Repetition repetition;
  const absl::Status status = workload->RunOnce(context, repetition);
  ASSERT_TRUE(status.ok()) << status;
  std::set<std::string> declared, measured;
  for (const v1::MetricDescriptor& metric : descriptor().metrics()) declared.insert(metric.name());
  for (const v1::Measurement& measurement : repetition.measurements()) {
    measured.insert(measurement.metric());
    EXPECT_EQ(measurement.unit(), v1::UNIT_BYTES_PER_SECOND);
    EXPECT_EQ(measurement.direction(), v1::DIRECTION_HIGHER_IS_BETTER);
    if (!measurement.has_value()) {
      EXPECT_FALSE(measurement.missing_reason().empty());
      continue;
    }
    EXPECT_GT(measurement.value(), 0);
    EXPECT_TRUE(std::isfinite(measurement.value()));
    EXPECT_EQ(measurement.operations(), 3);
    EXPECT_GT(measurement.process_cpu_seconds(), 0);
    EXPECT_TRUE(measurement.derived_parameters().contains("isa"));
  }
  EXPECT_EQ(declared, measured);
  EXPECT_EQ(declared.size(), 32u);
  EXPECT_TRUE(declared.count("triad.scalar.single") == 1 && declared.count("copy.best.multi.peak") == 1);
  workload->Cleanup(context);
}

TEST_F(MemoryStreamTest, TheBestOfThePassesIsNotUnderTheirMedian) {
  FakeWorkContext context(descriptor(), Small());
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  v1::Repetition repetition;
  ASSERT_TRUE(workload->RunOnce(context, repetition).ok());
  std::map<std::string, double> values;
  for (const v1::Measurement& m : repetition.measurements()) values[m.metric()] = m.value();
  for (const char* name : {"copy.scalar.single", "triad.scalar.multi"}) {
    EXPECT_GE(values[std::string(name) + ".peak"], values[name]);
  }
  workload->Cleanup(context);
}

// C-015
TEST_F(MemoryStreamTest, SaysWhatItAssumedAndFlagsArraysThatFitIntoTheCache) {
  FakeWorkContext context(descriptor(), Small());
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  EXPECT_EQ(context.derived["size"].number(), 4 << 20);
  EXPECT_EQ(context.derived["threads"].number(), std::min(2u, ReadUsableCpus().threads()));
  EXPECT_GT(context.derived["last_level_cache"].number(), 0);
  EXPECT_FALSE(context.derived["last_level_cache_source"].text().empty());
  v1::Repetition repetition;
  ASSERT_TRUE(workload->RunOnce(context, repetition).ok());
  ASSERT_EQ(repetition.flags_size(), 1);
  EXPECT_EQ(repetition.flags(0).name(), "array < 4 × LLC");
  EXPECT_THAT(repetition.flags(0).evidence(), testing::HasSubstr("4 MiB"));
  workload->Cleanup(context);
}

TEST_F(MemoryStreamTest, NoMoreThreadsThanCpus) {
  FakeWorkContext context(descriptor(), Small(64));
  context.threads = 4096;
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  EXPECT_EQ(context.derived["threads"].number(), std::min(64u, ReadUsableCpus().threads()));
  workload->Cleanup(context);
}

TEST_F(MemoryStreamTest, TheAgentsCeilingBoundsTheThreads) {
  FakeWorkContext context(descriptor(), Small(16));
  context.threads = 1;
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  EXPECT_EQ(context.derived["threads"].number(), 1);
  workload->Cleanup(context);
}

TEST_F(MemoryStreamTest, ASizeBeyondMemoryIsSkippedNotTried) {
  std::map<std::string, v1::ParameterValue> huge = Small();
  huge["size"] = NumberParameter(std::pow(2.0, 40));
  FakeWorkContext context(descriptor(), huge);
  const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
  EXPECT_TRUE(agent::IsSkipped(workload->Prepare(context)));
  workload->Cleanup(context);
}

TEST_F(MemoryStreamTest, ACancelEndsPreparationAndRepetition) {
  for (const int looks : {0, 5}) {
    FakeWorkContext context(descriptor(), Small());
    const std::unique_ptr<Workload> workload = MemoryStreamEntry().make();
    ASSERT_TRUE(workload->Prepare(context).ok());
    context.cancel_after_looks = looks;
    v1::Repetition repetition;
    EXPECT_EQ(workload->RunOnce(context, repetition).code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(workload->Prepare(context).code(), absl::StatusCode::kCancelled);
    workload->Cleanup(context);
  }
}

TEST_F(MemoryStreamTest, DeclaresItself) {
  EXPECT_EQ(descriptor().name(), "memory.stream");
  EXPECT_EQ(descriptor().version(), 1u);
  EXPECT_FALSE(descriptor().needs_target());
  EXPECT_TRUE(descriptor().needs_quiet_machine());
  for (const v1::ParameterDescriptor& parameter : descriptor().parameters()) {
    EXPECT_FALSE(parameter.description().empty());
    EXPECT_EQ(parameter.has_default_value(), parameter.role() == v1::PARAMETER_ROLE_IDENTITY) << parameter.name();
  }
}

}  // namespace
}  // namespace fleetmark::agent
