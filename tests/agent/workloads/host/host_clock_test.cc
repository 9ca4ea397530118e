#include "agent/workloads/host/host_clock.h"

#include <gtest/gtest.h>

#include "tests/support/fake_work_context.h"

namespace fleetmark::agent {
namespace {

TEST(HostClockTest, MeasuresCostAndStep) {
  const WorkloadEntry& entry = HostClockEntry();
  EXPECT_EQ(entry.descriptor.name(), "host.clock");
  EXPECT_FALSE(entry.descriptor.needs_target());
  EXPECT_FALSE(entry.descriptor.needs_quiet_machine());
  test::FakeWorkContext context(entry.descriptor, {});
  const std::unique_ptr<Workload> workload = entry.make();
  ASSERT_TRUE(workload->Prepare(context).ok());
  v1::Repetition repetition;
  ASSERT_TRUE(workload->RunOnce(context, repetition).ok());
  ASSERT_EQ(repetition.measurements_size(), entry.descriptor.metrics_size());
  for (int i = 0; i < repetition.measurements_size(); ++i) {
    const v1::Measurement& measurement = repetition.measurements(i);
    EXPECT_EQ(measurement.metric(), entry.descriptor.metrics(i).name());
    EXPECT_EQ(measurement.unit(), v1::UNIT_SECONDS);
    EXPECT_EQ(measurement.direction(), v1::DIRECTION_LOWER_IS_BETTER);
    ASSERT_TRUE(measurement.has_value());
    EXPECT_GT(measurement.value(), 0);
    EXPECT_GT(measurement.operations(), 0);
    // C-009: half of the 50 ms each, however loaded the machine is.
    EXPECT_GE(measurement.elapsed_seconds(), 0.025);
    EXPECT_GT(measurement.process_cpu_seconds(), 0);
  }
  workload->Cleanup(context);
}

TEST(HostClockTest, ACancelIsACancel) {
  test::FakeWorkContext context(HostClockEntry().descriptor, {});
  context.cancel = true;
  v1::Repetition repetition;
  EXPECT_EQ(HostClockEntry().make()->RunOnce(context, repetition).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace fleetmark::agent
