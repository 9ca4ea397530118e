#include "common/views/descriptions.h"

#include <gtest/gtest.h>

namespace fleetmark {
namespace {

TEST(DescriptionsTest, RulesAreSaidAsTheyAreObeyed) {
  v1::RepetitionRule rule;
  EXPECT_EQ(DescribeRule(rule), "");
  rule.set_least(6);
  rule.set_most(15);
  rule.set_budget_seconds(300);
  EXPECT_EQ(DescribeRule(rule), "at least 6, at most 15, 5 min");
  rule.set_exactly(3);
  EXPECT_EQ(DescribeRule(rule), "exactly 3");
}

TEST(DescriptionsTest, AStackIsReadFromTheTop) {
  v1::Target target;
  EXPECT_EQ(DescribeStack(target), "");
  target.add_stack()->set_device("vda1");
  target.add_stack()->set_kind("dm-crypt");
  EXPECT_EQ(DescribeStack(target), "vda1 > dm-crypt");
}

TEST(DescriptionsTest, DisksCarryTheirModelWhereThereIsOne) {
  v1::Target target;
  target.add_disks()->set_kernel_name("vda");
  v1::Disk& second = *target.add_disks();
  second.set_kernel_name("sdb");
  second.set_model("Electra 6G");
  EXPECT_EQ(DescribeDisks(target), "vda, sdb (Electra 6G)");
}

TEST(DescriptionsTest, ARangeNamesItsStepsAndWhatItMustStayBelow) {
  v1::WorkloadDescriptor workload;
  v1::ParameterDescriptor& size = *workload.add_parameters();
  size.set_type(v1::PARAMETER_TYPE_BYTES);
  size.set_minimum(16 << 20);
  size.set_maximum(1 << 30);
  size.set_multiple_of(1 << 20);
  v1::ParameterDescriptor& ramp = *workload.add_parameters();
  ramp.set_type(v1::PARAMETER_TYPE_SECONDS);
  ramp.set_below("seconds");
  const Table table = ParameterTable(workload);
  EXPECT_EQ(table.rows[0][3].text, "16 MiB ... 1 GiB, multiples of 1 MiB");
  EXPECT_EQ(table.rows[1][3].text, "below seconds");
}

TEST(DescriptionsTest, UnitsAreReadByPeople) {
  EXPECT_EQ(DescribeUnit(Unit::kBytesPerSecond), "bytes/s");
  EXPECT_EQ(DescribeUnit(Unit::kOperationsPerSecond), "operations/s");
  EXPECT_EQ(DescribeUnit(Unit::kSeconds), "seconds");
  EXPECT_EQ(DescribeUnit(Unit::kNone), "");
}

TEST(DescriptionsTest, AParameterOfANewerProgramIsShownAsUnknown) {
  v1::WorkloadDescriptor workload;
  v1::ParameterDescriptor& parameter = *workload.add_parameters();
  parameter.set_name("size");
  parameter.set_type(static_cast<v1::ParameterType>(99));
  const Table table = ParameterTable(workload);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0][1].text, "unknown(99)");
  EXPECT_EQ(table.rows[0][2].text, "from the machine");
}

}  // namespace
}  // namespace fleetmark
