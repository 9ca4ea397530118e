#include "collector/analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/histogram/histogram.h"

namespace fleetmark::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ParameterValue Number(double number) {
  v1::ParameterValue value;
  value.set_number(number);
  return value;
}

// One metric over the repetitions of a task.
struct Series {
  std::string host = "mac";
  RunId run = 1;
  std::string target = "ssd";
  std::string workload = "disk.profile";
  uint32_t version = 1;
  std::string metric = "seq.read.bandwidth";
  v1::Direction direction = v1::DIRECTION_HIGHER_IS_BETTER;
  std::map<std::string, v1::ParameterValue> identity = {};
  std::map<std::string, v1::ParameterValue> derived = {};
  std::string build = "g++ 12";
};

class CompareResultsTest : public ::testing::Test {
 protected:
  std::vector<ResultRow*> Add(const Series& series, const std::vector<double>& values) {
    std::vector<size_t> added;
    uint32_t number = 0;
    for (const double value : values) {
      ResultRow row;
      row.run = series.run;
      row.host = "id-" + series.host;
      row.host_name = series.host;
      row.target = series.target;
      row.disk = series.target.empty() ? "" : "disk-" + series.host + series.target;
      row.disk_label = series.target.empty() ? "" : "Some Disk";
      row.workload = series.workload;
      row.version = series.version;
      row.identity_parameters = series.identity;
      row.derived_parameters = series.derived;
      row.agent_build = series.build;
      row.repetition = ++number;
      row.measurement.set_metric(series.metric);
      row.measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
      row.measurement.set_direction(series.direction);
      row.measurement.set_value(value);
      added.push_back(results_.rows.size());
      results_.rows.push_back(row);
    }
    std::vector<ResultRow*> rows;
    for (const size_t index : added) rows.push_back(&results_.rows[index]);
    return rows;
  }

  void Note(const std::string& host, const std::string& workload, v1::TaskState state, const std::string& reason,
            const std::string& target = "ssd") {
    TaskNote note;
    note.run = 1;
    note.host = "id-" + host;
    note.host_name = host;
    note.target = target;
    note.workload = workload;
    note.version = 1;
    note.state = state;
    note.reason = reason;
    results_.notes.push_back(note);
  }

  v1::CompareResponse Compare() {
    options_.hosts.clear();
    for (const std::string& name : names_) options_.hosts.push_back({"id-" + name, name});
    return CompareResults(results_, options_);
  }

  static std::vector<std::string> Notes(const v1::CompareResponse& response) {
    return {response.notes().begin(), response.notes().end()};
  }

  ResultSet results_;
  ComparisonOptions options_;
  std::vector<std::string> names_ = {"mac", "thinkpad"};
};

TEST_F(CompareResultsTest, MarksTheBestAndGivesRatiosToTheFirstColumn) {
  Add({}, {100, 101, 99});
  Add({.host = "thinkpad"}, {210, 200, 190});
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 2);
  EXPECT_EQ(response.columns(0).host(), "mac");
  EXPECT_EQ(response.columns(1).host(), "thinkpad");
  ASSERT_EQ(response.rows_size(), 1);
  const v1::ComparisonRow& row = response.rows(0);
  EXPECT_DOUBLE_EQ(row.cells(0).median(), 100);
  EXPECT_FALSE(row.cells(0).has_ratio_to_first());
  EXPECT_DOUBLE_EQ(row.cells(1).ratio_to_first(), 2.0);
  EXPECT_FALSE(row.cells(0).best());
  EXPECT_TRUE(row.cells(1).best());
  EXPECT_EQ(row.cells(0).repetitions(), 3u);
  EXPECT_FALSE(row.cells(0).interval()) << "fewer than six repetitions have no interval";
  EXPECT_DOUBLE_EQ(row.cells(0).low(), 99);
  EXPECT_DOUBLE_EQ(row.cells(0).high(), 101);
}

// C-029
TEST_F(CompareResultsTest, LowerIsBetterWhereTheMetricSaysSo) {
  Add({.direction = v1::DIRECTION_LOWER_IS_BETTER}, {4, 4, 4});
  Add({.host = "thinkpad", .direction = v1::DIRECTION_LOWER_IS_BETTER}, {3, 3, 3});
  EXPECT_TRUE(Compare().rows(0).cells(1).best());
  EXPECT_FALSE(Compare().rows(0).cells(0).best());
}

TEST_F(CompareResultsTest, NothingIsBestWithoutADirection) {
  for (const v1::Direction direction : {v1::DIRECTION_NONE, v1::DIRECTION_UNSPECIFIED}) {
    results_ = {};
    Add({.direction = direction}, {4, 4, 4});
    Add({.host = "thinkpad", .direction = direction}, {3, 3, 3});
    const v1::CompareResponse response = Compare();
    EXPECT_FALSE(response.rows(0).cells(0).best() || response.rows(0).cells(1).best());
  }
}

TEST_F(CompareResultsTest, SixRepetitionsHaveAnInterval) {
  Add({}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(Compare().rows(0).cells(0).interval());
}

// C-038
TEST_F(CompareResultsTest, AZeroOrMissingBaselineHasNoRatio) {
  Add({}, {0, 0, 0});
  Add({.host = "thinkpad"}, {100, 100, 100});
  EXPECT_FALSE(Compare().rows(0).cells(1).has_ratio_to_first());
  results_ = {};
  Add({.host = "thinkpad"}, {100, 100, 100});
  const v1::CompareResponse response = Compare();
  EXPECT_FALSE(response.rows(0).cells(0).has_median());
  EXPECT_EQ(response.rows(0).cells(0).missing_reason(), "no result");
  EXPECT_FALSE(response.rows(0).cells(1).has_ratio_to_first());
  EXPECT_THAT(Notes(response), Contains("mac: no results yet"));
}

// C-042
TEST_F(CompareResultsTest, VersionsAreNeverMixed) {
  Add({}, {100, 100, 100});
  Add({.host = "thinkpad", .version = 2}, {200, 200, 200});
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.rows_size(), 2);
  EXPECT_FALSE(response.rows(0).cells(1).has_median());
  EXPECT_FALSE(response.rows(1).cells(0).has_median());
  EXPECT_THAT(Notes(response), Contains(HasSubstr("versions 1 and 2")));
  options_.force = true;
  EXPECT_EQ(Compare().rows_size(), 2) << "not by force either";
}

// C-042
TEST_F(CompareResultsTest, DifferentBuildsAreNoted) {
  Add({}, {100, 100, 100});
  Add({.host = "thinkpad", .build = "clang 14"}, {100, 100, 100});
  EXPECT_THAT(Notes(Compare()), Contains(HasSubstr("agent build differs: mac ssd g++ 12, thinkpad ssd clang 14")));
}

// C-046
TEST_F(CompareResultsTest, DifferentIdentityParametersStandInSeparateRows) {
  Add({.identity = {{"size", Number(1)}}}, {100, 100, 100});
  Add({.host = "thinkpad", .identity = {{"size", Number(2)}}}, {200, 200, 200});
  v1::CompareResponse response = Compare();
  ASSERT_EQ(response.rows_size(), 2);
  EXPECT_NE(response.rows(0).parameters(), response.rows(1).parameters());
  EXPECT_FALSE(response.rows(0).cells(0).best());
  EXPECT_THAT(Notes(response), Contains(HasSubstr("size differs, so the values stand in separate rows: mac ssd 1, "
                                                  "thinkpad ssd 2")));
  options_.force = true;
  response = Compare();
  ASSERT_EQ(response.rows_size(), 1);
  EXPECT_DOUBLE_EQ(response.rows(0).cells(1).ratio_to_first(), 2);
  EXPECT_THAT(Notes(response), Contains(HasSubstr("size differs, compared all the same")));
}

// C-046: by force values of different parameters stand side by side; they are never mixed into one.
TEST_F(CompareResultsTest, ForceNeverMixesWhatOneHostMeasuredInTwoWays) {
  Add({.identity = {{"size", Number(1)}}}, {100, 100, 100});
  Add({.identity = {{"size", Number(2)}}}, {500, 500, 500});
  Add({.identity = {{"size", Number(4)}}}, {900, 900, 900});
  Add({.host = "thinkpad", .identity = {{"size", Number(3)}}}, {200, 200, 200});
  Add({.host = "thinkpad", .identity = {{"size", Number(4)}}}, {950, 950, 950});
  options_.force = true;
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.rows_size(), 3);
  std::map<double, double> beside;  // thinkpad's value by mac's; 0: none
  for (const v1::ComparisonRow& row : response.rows()) {
    beside[row.cells(0).median()] = row.cells(1).has_median() ? row.cells(1).median() : 0;
  }
  EXPECT_EQ(beside, (std::map<double, double>{{100, 200}, {500, 0}, {900, 950}}));
}

// C-046
TEST_F(CompareResultsTest, DerivedParametersAreNotedAndForbidNothing) {
  Add({.target = "", .workload = "memory.stream", .derived = {{"array", Number(64)}}}, {100, 100, 100});
  Add({.host = "thinkpad", .target = "", .workload = "memory.stream", .derived = {{"array", Number(256)}}},
      {90, 90, 90});
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.rows_size(), 1);
  EXPECT_TRUE(response.rows(0).cells(0).best());
  EXPECT_THAT(Notes(response),
              Contains(HasSubstr("array differs, as it follows from the machine: mac 64, thinkpad 256")));
}

TEST_F(CompareResultsTest, MetricsThatDifferAlikeShareANote) {
  for (const std::string metric : {"a", "b", "c"}) {
    for (ResultRow* row : Add({.metric = metric}, {1, 1, 1})) {
      (*row->measurement.mutable_derived_parameters())["engine"].set_text("sync");
    }
    for (ResultRow* row : Add({.host = "thinkpad", .metric = metric}, {1, 1, 1})) {
      (*row->measurement.mutable_derived_parameters())["engine"].set_text(metric == "c" ? "sync" : "io_uring");
    }
  }
  const std::vector<std::string> notes = Notes(Compare());
  EXPECT_THAT(notes, ElementsAre("disk.profile@1 a and 1 more: engine differs, as it follows from the machine: mac ssd "
                                 "sync, thinkpad ssd io_uring"));
}

TEST_F(CompareResultsTest, ValuesWithCommasAreQuotedWhereTheyDiffer) {
  const char* const details[] = {"fixed buffers, batch 8", "fixed buffers, batch 1"};
  for (const std::string host : {"mac", "thinkpad"}) {
    const std::vector<ResultRow*> rows = Add({.host = host}, {1, 1, 1});
    for (size_t i = 0; i < rows.size(); ++i) {
      v1::ParameterValue& value = (*rows[i]->measurement.mutable_derived_parameters())["engine_details"];
      value.set_text(details[host == "mac" && i == 0 ? 1 : 0]);
    }
  }
  EXPECT_THAT(Notes(Compare()), Contains(HasSubstr("mac ssd \"fixed buffers, batch 1\" and \"fixed buffers, batch 8\", "
                                                   "thinkpad ssd \"fixed buffers, batch 8\"")));
}

// C-047
TEST_F(CompareResultsTest, FlaggedRepetitionsAreLeftOutAndCounted) {
  const std::vector<ResultRow*> rows = Add({}, {100, 101, 99, 5000});
  v1::Flag& flag = *rows[3]->measurement.add_flags();
  flag.set_name("cached");
  flag.set_evidence("the device moved 3 MB of 2147 MB asked");
  Add({.host = "thinkpad"}, {50, 50, 50});
  const v1::CompareResponse response = Compare();
  const v1::ComparisonCell& cell = response.rows(0).cells(0);
  EXPECT_DOUBLE_EQ(cell.median(), 100);
  EXPECT_EQ(cell.repetitions(), 3u);
  EXPECT_EQ(cell.excluded(), 1u);
  EXPECT_TRUE(cell.best());
  EXPECT_THAT(cell.flags(), ElementsAre("cached"));
  EXPECT_THAT(Notes(response), Contains("mac ssd: 1 value left out of the medians (cached)"));
  ASSERT_EQ(response.flags_size(), 1);
  EXPECT_EQ(response.flags(0),
            "cached, mac ssd, disk.profile seq.read.bandwidth: the device moved 3 MB of 2147 MB asked");
}

// C-001
TEST_F(CompareResultsTest, AWhollyCachedValueIsShownButNeverBestNorInARatio) {
  Add({}, {100, 100, 100});
  for (ResultRow* row : Add({.host = "thinkpad"}, {9000, 9000, 9000})) {
    row->measurement.add_flags()->set_name("cached");
  }
  const v1::CompareResponse response = Compare();
  const v1::ComparisonCell& cached = response.rows(0).cells(1);
  EXPECT_DOUBLE_EQ(cached.median(), 9000);
  EXPECT_FALSE(cached.best());
  EXPECT_FALSE(cached.has_ratio_to_first());
  EXPECT_THAT(cached.flags(), ElementsAre("cached"));
  EXPECT_FALSE(response.rows(0).cells(0).best()) << "one value alone is not the best of anything";
}

// C-047, C-152
TEST_F(CompareResultsTest, SkippedAndFailedTasksAreSaid) {
  Add({}, {100, 100, 100});
  Note("thinkpad", "disk.profile", v1::TASK_STATE_SKIPPED, "target is in memory");
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 2);
  EXPECT_FALSE(response.rows(0).cells(1).has_median());
  EXPECT_EQ(response.rows(0).cells(1).missing_reason(), "skipped: target is in memory");
  EXPECT_THAT(Notes(response), Contains("thinkpad ssd, disk.profile: skipped: target is in memory"));
}

// C-032: 1000 operations of up to 1 ms and 10 of 900 ms have a p99 of 1 ms together; the mean of both p99 is 450 ms.
TEST_F(CompareResultsTest, HistogramsOfRepetitionsAreMerged) {
  const std::vector<ResultRow*> rows = Add({}, {100, 100});
  LatencyHistogram fast, slow;
  for (int i = 0; i < 1000; ++i) fast.Record(1'000'000);
  for (int i = 0; i < 10; ++i) slow.Record(900'000'000);
  rows[0]->measurement.set_latency_histogram(fast.Serialize());
  rows[1]->measurement.set_latency_histogram(slow.Serialize());
  EXPECT_NEAR(Compare().rows(0).cells(0).latency_p99_seconds(), 1e-3, 1e-5);
}

// C-043, C-111
TEST_F(CompareResultsTest, ValuesThatAreNotFiniteAreNotThere) {
  Add({}, {std::nan(""), std::numeric_limits<double>::infinity()});
  Add({.host = "thinkpad"}, {2, 2});
  const v1::CompareResponse response = Compare();
  EXPECT_FALSE(response.rows(0).cells(0).has_median());
  EXPECT_FALSE(response.rows(0).cells(0).best());
  EXPECT_FALSE(response.rows(0).cells(1).has_ratio_to_first());
}

// C-048
TEST_F(CompareResultsTest, NobodyIsBestWithinTheNoise) {
  Add({}, {500, 500, 500});
  Add({.host = "thinkpad"}, {505, 505, 505});
  const v1::CompareResponse response = Compare();
  EXPECT_FALSE(response.rows(0).cells(0).best());
  EXPECT_FALSE(response.rows(0).cells(1).best());
}

// C-034, C-048
TEST_F(CompareResultsTest, NobodyIsBestWhereTheRepetitionsDoNotTell) {
  for (const auto& [mac, thinkpad] : std::vector<std::pair<std::vector<double>, std::vector<double>>>{
           {{100}, {200}},                               // one each
           {{100, 101}, {200, 201}},                     // two each
           {{100, 101, 99}, {200}},                      // one of them
           {{400, 500, 600}, {450, 560, 650}},           // medians apart, ranges overlap
           {{1, 2, 3, 4, 5, 6}, {3, 4, 5, 6, 7, 8}}}) {  // and so do the intervals
    results_ = {};
    Add({}, mac);
    Add({.host = "thinkpad"}, thinkpad);
    const v1::CompareResponse response = Compare();
    EXPECT_FALSE(response.rows(0).cells(0).best() || response.rows(0).cells(1).best()) << mac.size();
    EXPECT_THAT(Notes(response), Contains("no best marked where the intervals overlap or n < 3 (1 of 1 row)"));
    EXPECT_TRUE(response.rows(0).cells(1).has_ratio_to_first()) << "a ratio is no verdict";
  }
}

TEST_F(CompareResultsTest, TheBestIsTheBestOfAllOrNone) {
  names_ = {"mac", "thinkpad", "macbook"};
  Add({}, {100, 101, 99});
  Add({.host = "thinkpad"}, {200, 201, 199});
  Add({.host = "macbook"}, {150, 190, 230});  // overlaps the best, not the other
  const v1::CompareResponse response = Compare();
  for (const v1::ComparisonCell& cell : response.rows(0).cells()) EXPECT_FALSE(cell.best());
  EXPECT_THAT(Notes(response), Contains(HasSubstr("no best marked")));
}

TEST_F(CompareResultsTest, WhereABestOneIsMarkedNothingIsSaidAboutMarks) {
  Add({}, {100, 101, 99});
  Add({.host = "thinkpad"}, {200, 201, 199});
  EXPECT_THAT(Notes(Compare()), Not(Contains(HasSubstr("best"))));
}

TEST_F(CompareResultsTest, TwoDisksOfAHostAreTwoColumnsAndItsMemoryStandsOnceWithoutADisk) {
  names_ = {"mac"};
  Add({}, {100, 100, 100});
  Add({.target = "data"}, {50, 50, 50});
  Add({.target = "", .workload = "memory.stream", .metric = "triad"}, {7, 7, 7});
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 3);
  ASSERT_EQ(response.rows_size(), 2);
  EXPECT_EQ(response.columns(2).host(), "mac");
  EXPECT_EQ(response.columns(2).target(), "");
  EXPECT_EQ(response.columns(2).disk(), "");
  EXPECT_DOUBLE_EQ(response.rows(1).cells(2).median(), 7);
  EXPECT_FALSE(response.rows(1).cells(0).has_median() || response.rows(1).cells(1).has_median());
  EXPECT_FALSE(response.rows(0).cells(2).has_median());
  options_.targets.emplace_back().set_target("data");
  const v1::CompareResponse data_only = Compare();
  ASSERT_EQ(data_only.columns_size(), 2);
  EXPECT_EQ(data_only.columns(0).target(), "data");
  EXPECT_EQ(data_only.rows_size(), 2) << "what needs no target stays";
}

TEST_F(CompareResultsTest, RatiosAreToTheFirstColumnOfTheWorkload) {
  for (const std::string host : {"mac", "thinkpad"}) {
    const double value = host == "mac" ? 100 : 200;
    Add({.host = host}, {value, value, value});
    Add({.host = host, .target = "", .workload = "memory.stream"}, {value, value, value});
  }
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 4);
  EXPECT_DOUBLE_EQ(response.rows(0).cells(2).ratio_to_first(), 2) << "of the disks";
  EXPECT_DOUBLE_EQ(response.rows(1).cells(3).ratio_to_first(), 2) << "of the hosts";
  EXPECT_FALSE(response.rows(1).cells(1).has_ratio_to_first());
}

TEST_F(CompareResultsTest, ATargetWithoutResultsIsANoteNotAColumn) {
  Add({}, {100, 100, 100});
  Add({.host = "thinkpad"}, {100, 100, 100});
  Note("mac", "disk.profile", v1::TASK_STATE_CANCELLED, "cancelled by alice", "usb");
  Note("thinkpad", "disk.profile", v1::TASK_STATE_SKIPPED, "target is in memory", "ram");
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 2);
  for (const v1::ComparisonColumn& column : response.columns()) EXPECT_EQ(column.target(), "ssd");
  EXPECT_THAT(Notes(response), Contains(HasSubstr("mac usb, disk.profile: cancelled")));
  EXPECT_THAT(Notes(response), Contains(HasSubstr("thinkpad ram, disk.profile: skipped: target is in memory")));
}

TEST_F(CompareResultsTest, WorkloadsStandInTheOrderOfTheSuite) {
  Note("mac", "disk.profile", v1::TASK_STATE_SKIPPED, "target is in memory");
  Add({.target = "", .workload = "host.clock", .metric = "cost"}, {5});
  Add({.host = "thinkpad"}, {100, 100, 100});
  Add({.host = "thinkpad", .metric = "seq.write.bandwidth"}, {100, 100, 100});
  Add({.host = "thinkpad", .target = "", .workload = "host.clock", .metric = "cost"}, {5});
  std::vector<std::string> order;
  const v1::CompareResponse response = Compare();
  for (const v1::ComparisonRow& row : response.rows()) order.push_back(row.workload() + " " + row.metric());
  EXPECT_THAT(order,
              ElementsAre("disk.profile seq.read.bandwidth", "disk.profile seq.write.bandwidth", "host.clock cost"));
}

TEST_F(CompareResultsTest, RunsAreColumnsWhereSeveralAreCompared) {
  names_ = {};
  options_.runs = {15, 12};
  Add({.run = 12}, {100, 100, 100});
  Add({.run = 15}, {200, 200, 200});
  const v1::CompareResponse response = Compare();
  ASSERT_EQ(response.columns_size(), 2);
  EXPECT_THAT(response.columns(0).run_ids(), ElementsAre(15)) << "in the order asked";
  EXPECT_THAT(response.columns(1).run_ids(), ElementsAre(12));
  EXPECT_DOUBLE_EQ(response.rows(0).cells(1).ratio_to_first(), 0.5);
}

// Swapping the columns only mirrors the verdict.
TEST_F(CompareResultsTest, IsSymmetric) {
  Add({}, {100, 100, 100});
  Add({.host = "thinkpad"}, {200, 200, 200});
  const v1::CompareResponse forth = Compare();
  names_ = {"thinkpad", "mac"};
  const v1::CompareResponse back = Compare();
  EXPECT_EQ(forth.rows(0).cells(0).best(), back.rows(0).cells(1).best());
  EXPECT_EQ(forth.rows(0).cells(1).best(), back.rows(0).cells(0).best());
  EXPECT_DOUBLE_EQ(forth.rows(0).cells(1).ratio_to_first() * back.rows(0).cells(1).ratio_to_first(), 1);
}

}  // namespace
}  // namespace fleetmark::collector
