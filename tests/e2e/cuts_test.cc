// The stream between agent and collector cut after each of its records, in both directions: whatever the place, the
// result tables are those of an uncut delivery (C-114).
//
// The same measured results are delivered again and again: an agent measures while it cannot reach its collector, its
// state directory and the database are kept, and every delivery starts from copies of both. FLEETMARK_LONG_TESTS cuts
// at every place up to 200, otherwise at some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/e2e/cutting_proxy.h"
#include "tests/support/fleet.h"
#include "tests/support/postgres.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::IsEmpty;

constexpr int kPlaces = 200;  // the cut is made after each of so many messages, both ways
constexpr int kPaceMs = 5;
constexpr int kRepetitions = 1000;  // measured: more messages than that

bool Long() { return std::getenv("FLEETMARK_LONG_TESTS") != nullptr; }

std::vector<int> Places() {
  std::vector<int> places;
  if (Long()) {
    for (int n = 1; n <= kPlaces; ++n) places.push_back(n);
  } else {
    places = {1, 2, 3, 5, 8, 21, 55, 144, kPlaces};
  }
  return places;
}

// What the agents measured, as it is in the tables, without stamps of when it arrived.
std::string Dump(const std::string& dsn) {
  std::string text;
  for (const auto& [table, stamps, order] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"run", "'{created_at,started_at,finished_at,give_up_at}'", "id"},
           {"task", "'{finished_at}'", "id"},
           {"attempt", "'{assigned_at,assigned_by,accepted_at,started_at,finished_at,snapshot_id}'", "task_id, number"},
           {"record", "'{received_at}'", "task_id, attempt, sequence"},
           {"repetition", "'{}'", "task_id, attempt, warmup, number"},
           {"measurement", "'{}'", "task_id, attempt, warmup, repetition, metric"},
           {"sample_chunk", "'{}'", "task_id, attempt, metric, sequence"},
           {"quarantine", "'{id,received_at}'", "task_id, attempt, sequence, sha256"}}) {
    for (const std::vector<std::string>& row : testing::Sql(
             dsn,
             absl::StrCat("SELECT to_jsonb(t) - ", stamps, "::text[] FROM fleetmark.", table, " t ORDER BY ", order))) {
      absl::StrAppend(&text, table, " ", absl::StrJoin(row, " "), "\n");
    }
  }
  return text;
}

std::string FirstDifference(const std::string& a, const std::string& b) {
  size_t line = 0, at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) {
    if (a[at] == '\n') line = at + 1;
    ++at;
  }
  return absl::StrCat(a.substr(line, a.find('\n', at) - line), "\n", b.substr(line, b.find('\n', at) - line));
}

class Cuts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static_cast<void>(testing::TestServer());
    proxy_ = new CuttingProxy();
    FleetOptions options;
    template_ = testing::NewEmptyDatabase();
    options.database = template_;
    fleet_ = new Fleet(options);
    host_ = &fleet_->AddHost("alpha");
    host_->Stop();
    host_->SetCollectors({proxy_->address()});
    proxy_->SetUpstream(fleet_->collector().address());
    host_->Start();
    ASSERT_TRUE(fleet_->WaitConnected("alpha"));
  }
  static void TearDownTestSuite() {
    if (fleet_ == nullptr) return;
    fleet_->Stop();
    EXPECT_THAT(fleet_->Leftovers(), IsEmpty());
    delete fleet_;
    delete proxy_;
  }

  // After deliveries: agent and collector at work again, on the database that the deliveries start from.
  static void GoOn() {
    if (!std::filesystem::exists(Saved())) return;
    host_->Stop();
    fleet_->collector().Stop();
    std::filesystem::remove_all(host_->state());
    std::filesystem::rename(Saved(), host_->state());
    fleet_->collector().SetDatabase(template_);
    ASSERT_TRUE(fleet_->collector().Start()) << fleet_->collector().log();
    proxy_->SetUpstream(fleet_->collector().address());
    proxy_->SetCuts({});
    host_->Start();
    ASSERT_EQ(fleet_->WaitForRun(run_).state(), v1::RUN_STATE_SUCCEEDED) << fleet_->Logs();
  }

  // The agent has measured a task and could tell nobody; agent and collector are stopped.
  static void MeasureInSilence(const std::vector<std::string>& run) {
    GoOn();
    if (HasFatalFailure()) return;
    WriteFile(host_->log_path(), "");
    run_ = fleet_->StartRun(run);
    ASSERT_TRUE(WaitUntil([&] { return !host_->LogLines(" started: ").empty(); }));
    proxy_->Block();
    ASSERT_TRUE(WaitUntil([&] { return !host_->LogLines(" succeeded").empty(); }, absl::Minutes(5))) << host_->log();
    EXPECT_EQ(host_->Stop(), 0);
    EXPECT_EQ(fleet_->collector().Stop(), 0);
    std::filesystem::copy(host_->state(), Saved(), std::filesystem::copy_options::recursive);
    proxy_->Unblock();
  }
  static std::string Saved() { return fleet_->root() + "/saved"; }

  // A new delivery of the same; the dump after it.
  static std::string Deliver(std::vector<Cut> cuts) {
    std::string database = testing::NewEmptyDatabase();
    const std::string name = testing::SqlValue(database, "SELECT current_database()");
    const std::string from = testing::SqlValue(template_, "SELECT current_database()");
    testing::Sql(testing::DsnOf("postgres"), absl::StrCat("DROP DATABASE ", name, "; "));
    const std::string made =
        testing::SqlValue(testing::DsnOf("postgres"), absl::StrCat("CREATE DATABASE ", name, " TEMPLATE ", from));
    EXPECT_EQ(made, "(no rows)");
    std::filesystem::remove_all(host_->state());
    std::filesystem::copy(Saved(), host_->state(), std::filesystem::copy_options::recursive);
    fleet_->collector().SetDatabase(database);
    EXPECT_TRUE(fleet_->collector().Start()) << fleet_->collector().log();
    proxy_->SetUpstream(fleet_->collector().address());
    proxy_->SetCuts(std::move(cuts));
    host_->Start();
    EXPECT_TRUE(WaitUntil([&] {
      return testing::SqlValue(database, absl::StrCat("SELECT state FROM fleetmark.run WHERE id = ", run_)) ==
             "succeeded";
    })) << fleet_->Logs();
    // A cut in this very moment may have lost the last acknowledgement; the next connection brings it.
    std::string spool;
    for (int i = 0; i < 10; ++i) {
      host_->Stop();
      spool = RunToEnd(host_->Agent("status", {"--output", "csv"})).output;
      if (spool.find("spooled records,0") != std::string::npos) break;
      const size_t connected = host_->LogLines("connected to").size();
      host_->Start();
      EXPECT_TRUE(WaitUntil([&] { return host_->LogLines("connected to").size() > connected; }));
    }
    EXPECT_THAT(spool, ::testing::HasSubstr("spooled records,0"));
    fleet_->collector().Stop();
    std::string dump = Dump(database);
    testing::Sql(testing::DsnOf("postgres"), absl::StrCat("DROP DATABASE ", name));
    return dump;
  }

  // Delivers it whole, and then cut at each of the places, which must have messages before and after them.
  static void ExpectCutsChangeNothing(const std::vector<int>& places) {
    // So that a delivery has messages enough to cut between: few records in each, and an acknowledgement for each.
    fleet_->collector().SetFlags({"--largest-batch", "1KiB"});
    proxy_->SetPace(absl::Milliseconds(2 * kPaceMs));
    const std::string uncut = Deliver({{Direction::kUp, 1'000'000}});
    const int up = proxy_->most(Direction::kUp), down = proxy_->most(Direction::kDown);
    ASSERT_GT(std::min(up, down), places.back()) << up << " messages up, " << down << " down";
    EXPECT_EQ(uncut.find("ERROR"), std::string::npos) << uncut.substr(0, 2000);
    EXPECT_NE(uncut.find("measurement"), std::string::npos);
    EXPECT_EQ(Deliver({}), uncut) << "two uncut deliveries must be the same";
    uncut_ = uncut;
    int done = 0;
    for (const Direction direction : {Direction::kUp, Direction::kDown}) {
      for (const int n : places) {
        std::string dump;
        // The more time between messages, the fewer of them share one acknowledgement.
        for (int pace_ms = kPaceMs; pace_ms <= 8 * kPaceMs && (dump.empty() || proxy_->cuts_done() == 0);
             pace_ms *= 2) {
          proxy_->SetPace(absl::Milliseconds(pace_ms));
          dump = Deliver({{direction, n, n % 2 != 0}});
        }
        ASSERT_EQ(dump == uncut, true) << "cut after record " << n << (direction == Direction::kUp ? " up" : " down")
                                       << "\n"
                                       << FirstDifference(uncut, dump);
        ASSERT_EQ(proxy_->cuts_done(), 1) << "after record " << n;
        ++done;
      }
    }
    std::printf("an uncut delivery has %d records up and %d down; cut at %d places, the tables equal each time\n", up,
                down, done);
  }

  static CuttingProxy* proxy_;
  static Fleet* fleet_;
  static FleetHost* host_;
  static std::string template_;
  static int64_t run_;
  static std::string uncut_;  // the tables
};
CuttingProxy* Cuts::proxy_ = nullptr;
Fleet* Cuts::fleet_ = nullptr;
FleetHost* Cuts::host_ = nullptr;
std::string Cuts::template_;
int64_t Cuts::run_ = 0;
std::string Cuts::uncut_;

// While tasks come, run and go.
TEST_F(Cuts, OfAStreamAtWorkLoseAndDoubleNothing) {
  std::string suite = "name: \"many\"\nversion: 1\n";
  constexpr int kTasks = 20;
  for (int i = 0; i < kTasks; ++i) suite += "entries { workload: \"host.clock\" repetitions { exactly: 1 } }\n";
  WriteFile(fleet_->root() + "/many.textproto", suite);
  ASSERT_EQ(fleet_->Cli({"suites", "add", fleet_->root() + "/many.textproto"}).exit_code, 0);
  std::vector<int> places = {15, 40};
  if (Long()) {
    places.clear();
    for (int n = 5; n <= 200; n += 5) places.push_back(n);
  }
  int runs = 0, done = 0;
  for (const Direction direction : {Direction::kUp, Direction::kDown}) {
    for (const int n : places) {
      // A new start of the agent, so that the waits between its tries begin small again.
      host_->Stop();
      proxy_->SetCuts({{direction, n, n % 2 != 0}});
      host_->Start();
      for (int i = 0; proxy_->cuts_done() == 0 && i < 10; ++i, ++runs) {
        const int64_t id = fleet_->StartRun({"many", "--all"});
        const v1::Run run = fleet_->WaitForRun(id, absl::Minutes(5));
        ASSERT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED) << fleet_->Logs();
        ASSERT_EQ(run.tasks_size(), kTasks);
        for (const v1::Task& task : run.tasks()) {
          EXPECT_EQ(task.attempt(), 1U);
          EXPECT_EQ(task.repetitions(), 1U);
        }
        EXPECT_THAT(testing::Sql(template_, absl::StrCat("SELECT t.id FROM fleetmark.task t JOIN fleetmark.record r ON "
                                                         "r.task_id = t.id WHERE t.run_id = ",
                                                         id, " GROUP BY 1 HAVING count(*) <> max(r.sequence)")),
                    IsEmpty());
      }
      done += proxy_->cuts_done();
    }
  }
  EXPECT_EQ(done, static_cast<int>(2 * places.size()));
  EXPECT_EQ(testing::SqlValue(template_, "SELECT count(*) FROM fleetmark.quarantine"), "0");
  std::printf("%d cuts in %d runs of %d tasks\n", done, runs, kTasks);
}

TEST_F(Cuts, OfADeliveryLeaveTheTablesAsAnUncutOne) {
  MeasureInSilence({"host.clock", "--all", "--repeat", absl::StrCat(kRepetitions)});
  if (HasFatalFailure()) return;
  ExpectCutsChangeNothing(Places());
}

// With series of samples and histograms.
TEST_F(Cuts, OfADisksDeliveryLeaveTheTablesAsAnUncutOne) {
  WriteFile(
      fleet_->root() + "/disk.textproto",
      absl::StrCat("name: \"some-disk\"\nversion: 1\nquiet_wait_seconds: 0\n"
                   "entries { workload: \"disk.profile\"\n"
                   "  parameters { key: \"size\" value: \"16MiB\" } parameters { key: \"seconds\" value: \"500ms\" }\n"
                   "  parameters { key: \"ramp\" value: \"0s\" } parameters { key: \"operations\" value: \"read\" }\n"
                   "  repetitions { exactly: ",
                   Long() ? 20 : 3, " } }\n"));
  GoOn();
  ASSERT_EQ(fleet_->Cli({"suites", "add", fleet_->root() + "/disk.textproto"}).exit_code, 0);
  MeasureInSilence({"some-disk", "--all"});
  if (HasFatalFailure()) return;
  std::vector<int> places = {1, 2, 5, 9};
  if (Long()) {
    for (int n = 10; n <= 80; ++n) places.push_back(n);
  }
  ExpectCutsChangeNothing(places);
  EXPECT_NE(uncut_.find("sample_chunk"), std::string::npos);
}

}  // namespace
}  // namespace fleetmark::test
