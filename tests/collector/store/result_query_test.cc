#include <limits>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResultQueryTest : public StoreTest {
 protected:
  // A run of one task that ends as told; returns its id.
  RunId Measure(const HostId& host, const std::string& name, const std::vector<double>& values,
                const std::string& workload = "disk.profile", const std::string& disk = "disk-1",
                double size = 1 << 30) {
    const RunId run = AddRun({TaskOn(host, name, workload)});
    const auto start = *store_->runs().AssignNextTask(host, "c1");
    EXPECT_TRUE(start.has_value());
    std::vector<v1::Record> records = WholeTask({start->task_id(), start->attempt()}, values);
    records[0] = Started({start->task_id(), start->attempt()}, disk);
    (*records[0].mutable_started()->mutable_identity_parameters())["size"].set_number(size);
    if (values.empty()) records.back() = Finished({start->task_id(), 1}, 2, v1::TASK_OUTCOME_FAILED, "it broke");
    StoreAll(host, records);
    return run;
  }

  std::vector<double> Values(const ResultQuery& query) {
    const auto set = store_->results().Query(query);
    EXPECT_TRUE(set.ok()) << set.status();
    std::vector<double> values;
    for (const ResultRow& row : set->rows) values.push_back(row.measurement.value());
    return values;
  }
};

TEST_F(ResultQueryTest, TheNewestRunWithValuesOfEachHost) {
  const HostId mac = AddConnectedHost("mac");
  const HostId pi = AddConnectedHost("pi");
  Measure(mac, "mac", {1, 2});
  Measure(pi, "pi", {5});
  const RunId newest = Measure(mac, "mac", {3, 4});
  const RunId broken = Measure(mac, "mac", {});
  const auto set = store_->results().Query({{mac, pi}, {}, {}});
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->rows.size(), 3U);
  EXPECT_EQ(Values({{mac, pi}, {}, {}}), (std::vector<double>{5, 3, 4}));  // in order of run, task, repetition
  const ResultRow& row = set->rows[1];
  EXPECT_EQ(row.run, newest);
  EXPECT_EQ(row.host_name, "mac");
  EXPECT_EQ(row.target, "ssd");
  EXPECT_EQ(row.target_path, "/mnt/ssd");
  EXPECT_EQ(row.disk, "disk-1");
  EXPECT_EQ(row.disk_label, "Samsung");
  EXPECT_EQ(row.stack, "ext4 > vda1 > vda");
  EXPECT_EQ(row.workload, "disk.profile");
  EXPECT_EQ(row.version, 1U);
  EXPECT_EQ(row.identity_parameters.at("size").number(), 1 << 30);
  EXPECT_EQ(row.derived_parameters.at("engine").text(), "io_uring");
  EXPECT_EQ(row.agent_build, "g++ 12 -O2");
  EXPECT_EQ(row.repetition, 1U);
  EXPECT_NEAR(row.started_unix_seconds, NowSeconds(), 60);
  // The newest of all failed: that is said beside the older values.
  ASSERT_EQ(set->notes.size(), 1U);
  EXPECT_EQ(set->notes[0].run, broken);
  EXPECT_EQ(set->notes[0].state, v1::TASK_STATE_FAILED);
  EXPECT_EQ(set->notes[0].reason, "it broke");
}

TEST_F(ResultQueryTest, OtherDisksParametersAndWorkloadsStandForThemselves) {
  const HostId mac = AddConnectedHost("mac");
  Measure(mac, "mac", {1});
  Measure(mac, "mac", {2}, "disk.profile", "disk-2");
  Measure(mac, "mac", {3}, "disk.profile", "disk-1", 2147483648.0);
  Measure(mac, "mac", {4}, "memory.stream");
  Measure(mac, "mac", {5}, "disk.profile", "disk-1", 2147483648.0);
  EXPECT_THAT(Values({{mac}, {}, {}}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(Values({{mac}, {}, {"memory.stream"}}), ElementsAre(4));
  EXPECT_THAT(Values({{mac}, {}, {"none"}}), IsEmpty());
  EXPECT_THAT(Values({}), IsEmpty());
}

TEST_F(ResultQueryTest, AllResultsOfRunsWithTheirGaps) {
  const HostId mac = AddConnectedHost("mac");
  const HostId pi = AddConnectedHost("pi");
  NewTask skipped = TaskOn(pi, "pi");
  skipped.skipped_because = "no target 'ssd'";
  const RunId first = AddRun({TaskOn(mac, "mac"), skipped});
  const auto start = *store_->runs().AssignNextTask(mac, "c1");
  const AttemptKey key{start->task_id(), start->attempt()};
  v1::Record flagged = Rep(key, 3, 1, 2);
  flagged.mutable_repetition()->add_flags()->set_name("busy");
  flagged.mutable_repetition()->mutable_measurements(0)->add_flags()->set_name("cached");
  StoreAll(mac, {Started(key), Rep(key, 2, 1, 99, /*warmup=*/true), flagged, Finished(key, 4)});
  const RunId second = Measure(mac, "mac", {7});
  EXPECT_THAT(Values({{}, {second, first}, {}}), ElementsAre(2, 7));  // without the warm-up
  EXPECT_THAT(Values({{pi}, {second, first}, {}}), IsEmpty());
  const auto set = store_->results().Query({{}, {first}, {}});
  ASSERT_EQ(set->rows.size(), 1U);
  ASSERT_EQ(set->rows[0].measurement.flags_size(), 2);  // its own and those of its repetition
  EXPECT_EQ(set->rows[0].measurement.flags(0).name(), "cached");
  EXPECT_EQ(set->rows[0].measurement.flags(1).name(), "busy");
  ASSERT_EQ(set->notes.size(), 1U);
  EXPECT_EQ(set->notes[0].host_name, "pi");
  EXPECT_EQ(set->notes[0].state, v1::TASK_STATE_SKIPPED);
}

TEST_F(ResultQueryTest, ARenamedHostKeepsItsResultsUnderTheNewName) {
  const HostId mac = AddConnectedHost("mac");
  Measure(mac, "mac", {1});
  NewTask skipped = TaskOn(mac, "mac", "memory.stream");
  skipped.skipped_because = "too little memory";
  AddRun({skipped});
  ASSERT_TRUE(store_->hosts().RenameHost(mac, "mac-pro", "alice").ok());
  const auto set = store_->results().Query({{mac}, {}, {}});
  EXPECT_EQ(set->rows[0].host_name, "mac-pro");
  ASSERT_EQ(set->notes.size(), 1U);
  EXPECT_EQ(set->notes[0].host_name, "mac-pro");
}

// C-043: NULL stays out of a ranking, and NaN never got in.
TEST_F(ResultQueryTest, TheReportViewsRankOnlyNumbers) {
  const HostId a = AddConnectedHost("a");
  const HostId b = AddConnectedHost("b");
  const HostId c = AddConnectedHost("c");
  Measure(a, "a", {std::numeric_limits<double>::quiet_NaN()});
  Measure(b, "b", {2});
  Measure(c, "c", {1});
  EXPECT_EQ(Value("SELECT host_name FROM fleetmark_report.result WHERE value IS NOT NULL ORDER BY value DESC LIMIT 1"),
            "b");
  EXPECT_EQ(Value("SELECT max(value) FROM fleetmark_report.result"), "2");
  for (const char* view : {"host", "run", "task", "result", "sample", "quarantine"}) {
    EXPECT_NE(Value(absl::StrCat("SELECT count(*) FROM fleetmark_report.", view)), "") << view;
    EXPECT_NE(Value(absl::StrCat("SELECT obj_description('fleetmark_report.", view, "'::regclass)")), "NULL") << view;
  }
}

}  // namespace
}  // namespace fleetmark::collector
