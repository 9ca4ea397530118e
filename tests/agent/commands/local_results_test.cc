#include "agent/commands/local_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/views/comparison_tables.h"

namespace fleetmark::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

v1::TaskResult Result(const std::string& workload, const std::string& target, const std::vector<double>& values) {
  v1::TaskResult result;
  result.mutable_started()->set_workload(workload);
  result.mutable_started()->set_version(1);
  result.mutable_started()->mutable_inventory()->set_host_name("thinkpad");
  if (!target.empty()) {
    v1::Target& described = *result.mutable_started()->mutable_target();
    described.set_name(target);
    described.set_path("/mnt/" + target);
    described.set_file_system("ext4");
    described.add_stack()->set_device("sda1");
    described.add_disks()->set_model("Samsung SSD 850");
  }
  for (const double value : values) {
    v1::Repetition& repetition = *result.add_repetitions();
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric("read");
    measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
    measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement.set_value(value);
  }
  result.mutable_finished()->set_outcome(v1::TASK_OUTCOME_SUCCEEDED);
  return result;
}

void Flag(v1::Repetition& repetition) {
  v1::Flag& flag = *repetition.mutable_measurements(0)->add_flags();
  flag.set_name("cached");
  flag.set_evidence("the device moved 3 MB of 2147 MB asked");
}

v1::CompareResponse Compare(std::vector<v1::TaskResult> tasks) {
  v1::TaskResults results;
  for (v1::TaskResult& task : tasks) {
    SummarizeResult(task);
    *results.add_results() = std::move(task);
  }
  return CompareLocal(results);
}

TEST(CompareLocalTest, OneColumnPerTargetWithItsDisk) {
  const v1::CompareResponse comparison =
      Compare({Result("disk.dd", "ssd", {100, 200, 300}), Result("memory.stream", "", {5})});
  ASSERT_EQ(comparison.columns_size(), 1);
  EXPECT_EQ(comparison.columns(0).host(), "thinkpad");
  EXPECT_EQ(comparison.columns(0).stack(), "ext4 > sda1");
  EXPECT_EQ(comparison.columns(0).disk(), "Samsung SSD 850");
  ASSERT_EQ(comparison.rows_size(), 2);
  EXPECT_EQ(comparison.rows(0).cells(0).median(), 200);
  EXPECT_EQ(comparison.rows(0).cells(0).low(), 100);
  EXPECT_EQ(comparison.rows(0).cells(0).repetitions(), 3u);
  EXPECT_EQ(comparison.rows(1).cells(0).median(), 5);
}

TEST(CompareLocalTest, WhatIsLeftOutIsSaid) {
  v1::TaskResult result = Result("disk.dd", "ssd", {100, 9000, 300});
  Flag(*result.mutable_repetitions(1));
  const v1::CompareResponse comparison = Compare({result});
  EXPECT_EQ(comparison.rows(0).cells(0).median(), 200);
  EXPECT_EQ(comparison.rows(0).cells(0).excluded(), 1u);
  EXPECT_EQ(comparison.rows(0).cells(0).flags_size(), 0);
  EXPECT_THAT(comparison.notes(), Contains(HasSubstr("1 flagged value left out (cached)")));
  EXPECT_THAT(comparison.flags(), Contains(HasSubstr("the device moved 3 MB")));
}

TEST(CompareLocalTest, WhereAllIsFlaggedTheFlagStandsAtTheValueAndUnderTheTable) {
  v1::TaskResult result = Result("disk.dd", "ssd", {100, 200});
  Flag(*result.mutable_repetitions(0));
  Flag(*result.mutable_repetitions(1));
  const v1::CompareResponse comparison = Compare({result});
  EXPECT_THAT(comparison.rows(0).cells(0).flags(), Contains("cached"));
  std::string text;
  for (const Table& table : ComparisonTables(comparison)) text += RenderTable(table, {});
  EXPECT_THAT(text, AllOf(HasSubstr("150 B/s"), HasSubstr("cached, read: the device moved 3 MB of 2147 MB asked")));
}

TEST(CompareLocalTest, WhatWasChosenForEachMetricIsSaidToo) {
  v1::TaskResult result = Result("disk.dd", "ssd", {100, 200, 300});
  for (int i = 0; i < 3; ++i) {
    auto& derived = *result.mutable_repetitions(i)->mutable_measurements(0)->mutable_derived_parameters();
    derived["engine"].set_text("sync");
    derived["buffer_pattern"].set_text(i == 0 ? "zeros" : "random");
  }
  EXPECT_THAT(Compare({result}).notes(), Contains("disk.dd@1 here: buffer_pattern=zeros or random, engine=sync"));
}

TEST(CompareLocalTest, SkippedAndFailedTasksAreNotesNotZeros) {
  v1::TaskResult skipped = Result("disk.dd", "ssd", {});
  skipped.mutable_finished()->set_outcome(v1::TASK_OUTCOME_SKIPPED);
  skipped.mutable_finished()->set_reason("no space");
  const v1::CompareResponse comparison = Compare({skipped});
  EXPECT_EQ(comparison.rows_size(), 0);
  EXPECT_THAT(comparison.notes(), Contains("disk.dd@1 skipped: no space"));
}

}  // namespace
}  // namespace fleetmark::agent
