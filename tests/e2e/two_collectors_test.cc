// Two collectors on one database: an agent on one, a user on the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/support/fleet.h"
#include "tests/support/postgres.h"

namespace fleetmark::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TwoCollectors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static_cast<void>(testing::TestServer());  // before the fleet: not one of its processes
    FleetOptions options;
    options.database = testing::NewEmptyDatabase();
    fleet_ = new Fleet(options);
    host_ = &fleet_->AddHost("alpha");
    const absl::Status added = fleet_->AddCollector();
    ASSERT_TRUE(added.ok()) << added.message();
    host_->Stop();
    host_->SetCollectors({fleet_->collector(0).address(), fleet_->collector(1).address()});
    host_->Start();
    ASSERT_TRUE(fleet_->WaitConnected("alpha"));
  }
  static void TearDownTestSuite() {
    if (fleet_ == nullptr) return;
    fleet_->Stop();
    EXPECT_THAT(fleet_->Leftovers(), IsEmpty());
    delete fleet_;
  }
  void TearDown() override {
    if (HasFailure()) GTEST_LOG_(INFO) << fleet_->Logs();
  }

  // The user talks to the second one.
  static std::vector<std::string> OnB(std::vector<std::string> words) {
    words.insert(words.begin(), {"--collector", fleet_->collector(1).address()});
    return words;
  }
  static int64_t RunOnB(std::vector<std::string> words) {
    v1::Run run;
    words.insert(words.begin(), "run");
    words.push_back("--detach");
    const absl::Status status = fleet_->CliJson(OnB(std::move(words)), run);
    EXPECT_TRUE(status.ok()) << status.message();
    return run.id();
  }
  static v1::Run FinishedOnB(int64_t id) {
    v1::Run run;
    WaitUntil(
        [&] {
          return fleet_->CliJson(OnB({"runs", "show", absl::StrCat(id)}), run).ok() &&
                 run.state() != v1::RUN_STATE_RUNNING && run.state() != v1::RUN_STATE_CREATED;
        },
        absl::Minutes(2), absl::Milliseconds(100));
    return run;
  }

  static Fleet* fleet_;
  static FleetHost* host_;
};
Fleet* TwoCollectors::fleet_ = nullptr;
FleetHost* TwoCollectors::host_ = nullptr;

TEST_F(TwoCollectors, SeeTheSameFleet) {
  v1::ListHostsResponse a, b;
  ASSERT_TRUE(fleet_->CliJson({"hosts"}, a).ok());
  ASSERT_TRUE(fleet_->CliJson(OnB({"hosts"}), b).ok());
  ASSERT_EQ(b.hosts_size(), 1);
  EXPECT_EQ(a.hosts(0).id(), b.hosts(0).id());
  EXPECT_TRUE(b.hosts(0).connected());
  v1::GetStatusResponse status_a, status_b;
  ASSERT_TRUE(fleet_->CliJson({"status"}, status_a).ok());
  ASSERT_TRUE(fleet_->CliJson(OnB({"status"}), status_b).ok());
  EXPECT_NE(status_a.collector_id(), status_b.collector_id());
  EXPECT_EQ(status_a.connected_agents(), 1U);
  EXPECT_EQ(status_b.connected_agents(), 0U);
}

TEST_F(TwoCollectors, ARunFromTheOtherSideIsWatchedToItsEnd) {
  const Finished run = fleet_->Cli(OnB({"run", "host.clock", "--all", "--repeat", "60"}));
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("cost"));
  EXPECT_THAT(run.errors, HasSubstr("alpha"));
  EXPECT_THAT(run.errors, Not(HasSubstr("unreachable"))) << run.errors;
}

TEST_F(TwoCollectors, ARunFromTheOtherSideIsCancelled) {
  const int64_t id = RunOnB({"host.clock", "--all", "--repeat", "1000"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 2));
  EXPECT_EQ(fleet_->Cli(OnB({"runs", "cancel", absl::StrCat(id)})).exit_code, 0);
  const v1::Run run = FinishedOnB(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(WaitUntil([&] { return host_->Workers().empty(); }));
}

// The last: A does not come back.
TEST_F(TwoCollectors, ZTheAgentMovesToTheOtherAndTheRunFinishes) {
  const int64_t id = RunOnB({"host.clock", "--all", "--repeat", "80"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 5));
  fleet_->collector(0).Kill();
  const v1::Run run = FinishedOnB(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_EQ(run.tasks_size(), 1);
  EXPECT_EQ(run.tasks(0).attempt(), 1U);
  EXPECT_EQ(run.tasks(0).repetitions(), 80U);
  EXPECT_EQ(testing::SqlValue(fleet_->collector(1).database(),
                              absl::StrCat("SELECT count(*) = max(sequence) FROM fleetmark.record WHERE task_id = ",
                                           run.tasks(0).id())),
            "t");
  v1::GetStatusResponse status;
  ASSERT_TRUE(fleet_->CliJson(OnB({"status"}), status).ok());
  EXPECT_EQ(status.connected_agents(), 1U);
}

}  // namespace
}  // namespace fleetmark::test
