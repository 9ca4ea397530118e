// What holds for every workload in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "agent/workloads/workload.h"
#include "common/parameters/parameters.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

TEST(WorkloadTableTest, EveryWorkloadDeclaresItself) {
  std::set<std::string> names;
  ASSERT_FALSE(WorkloadTable().empty());
  for (const WorkloadEntry& entry : WorkloadTable()) {
    const v1::WorkloadDescriptor& workload = entry.descriptor;
    SCOPED_TRACE(workload.name());
    EXPECT_TRUE(names.insert(workload.name() + "@" + std::to_string(workload.version())).second);
    EXPECT_NE(workload.name().find('.'), std::string::npos);
    EXPECT_GT(workload.version(), 0u);
    EXPECT_FALSE(workload.description().empty());
    EXPECT_GT(workload.metrics_size(), 0);
    EXPECT_TRUE(MergeRepetitionRules(workload.repetition_rule(), {}).ok());
    EXPECT_TRUE(entry.make != nullptr && entry.make() != nullptr);
    EXPECT_TRUE(!workload.writes() || workload.needs_target());
  }
}

TEST(WorkloadTableTest, EveryMetricHasUnitAndDirection) {
  for (const WorkloadEntry& entry : WorkloadTable()) {
    std::set<std::string> names;
    for (const v1::MetricDescriptor& metric : entry.descriptor.metrics()) {
      SCOPED_TRACE(entry.descriptor.name() + " " + metric.name());
      EXPECT_TRUE(names.insert(metric.name()).second);
      EXPECT_NE(metric.unit(), v1::UNIT_UNSPECIFIED);
      EXPECT_NE(metric.direction(), v1::DIRECTION_UNSPECIFIED);
      EXPECT_FALSE(metric.description().empty());
    }
  }
}

TEST(WorkloadTableTest, EveryParameterIsCompleteAndItsDefaultValid) {
  for (const WorkloadEntry& entry : WorkloadTable()) {
    for (const v1::ParameterDescriptor& parameter : entry.descriptor.parameters()) {
      SCOPED_TRACE(entry.descriptor.name() + " " + parameter.name());
      EXPECT_NE(parameter.type(), v1::PARAMETER_TYPE_UNSPECIFIED);
      EXPECT_NE(parameter.role(), v1::PARAMETER_ROLE_UNSPECIFIED);
      EXPECT_FALSE(parameter.description().empty());
      if (parameter.has_default_value()) {
        EXPECT_TRUE(CheckParameter(parameter, parameter.default_value()).ok());
        // What is printed can be typed.
        const std::string text = FormatParameter(parameter, parameter.default_value());
        const absl::StatusOr<v1::ParameterValue> again = ParseParameter(parameter, text);
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_EQ(again->SerializeAsString(), parameter.default_value().SerializeAsString());
      }
    }
    EXPECT_TRUE(ResolveParameters(entry.descriptor, {}).ok());
  }
}

TEST(FindWorkloadTest, TakesTheNewestOrTheOneThatIsAsked) {
  std::vector<WorkloadEntry> table(3);
  for (WorkloadEntry& entry : table) entry.descriptor.set_name("disk.dd");
  table[0].descriptor.set_version(1);
  table[1].descriptor.set_version(3);
  table[2].descriptor.set_version(2);
  EXPECT_EQ((*FindWorkload(table, "disk.dd", 0))->descriptor.version(), 3u);
  EXPECT_EQ((*FindWorkload(table, "disk.dd", 2))->descriptor.version(), 2u);
  EXPECT_THAT(std::string(FindWorkload(table, "disk.dd", 4).status().message()), HasSubstr("not in version 4"));
  EXPECT_THAT(std::string(FindWorkload(table, "disc.dd", 0).status().message()), HasSubstr("did you mean disk.dd?"));
}

TEST(SkippedErrorTest, IsToldFromOtherErrors) {
  EXPECT_TRUE(agent::IsSkipped(SkippedError("no space")));
  EXPECT_FALSE(agent::IsSkipped(absl::FailedPreconditionError("no space")));
  EXPECT_FALSE(agent::IsSkipped(absl::OkStatus()));
}

}  // namespace
}  // namespace fleetmark::agent
