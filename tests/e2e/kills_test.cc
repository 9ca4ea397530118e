// kill -9 of each part in the middle of a run, and start again: nothing acknowledged is lost, nothing is doubled,
// nothing that still runs is started again, and the next run is a normal one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/fleet.h"
#include "tests/support/postgres.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Kills : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fleet_ = new Fleet({.machines = true});
    host_ = &fleet_->AddHost("alpha");
    fleet_->AddHost("beta");
    fleet_->AddHost("gamma");
    WriteFile(fleet_->root() + "/suites/two.textproto",
              "name: \"two\"\nversion: 1\nquiet_wait_seconds: 0\n"
              "entries { workload: \"host.clock\" repetitions { exactly: 400 } }\n"
              "entries { workload: \"host.clock\" repetitions { exactly: 2 } }\n");
    WriteFile(fleet_->root() + "/suites/disk.textproto",
              "name: \"small-disk\"\nversion: 1\nquiet_wait_seconds: 0\n"
              "entries { workload: \"disk.profile\"\n"
              "  parameters { key: \"size\" value: \"16MiB\" } parameters { key: \"seconds\" value: \"500ms\" }\n"
              "  parameters { key: \"ramp\" value: \"0s\" } parameters { key: \"operations\" value: \"read\" }\n"
              "  repetitions { exactly: 3 } }\n");
    for (const char* name : {"two", "disk"}) {
      const Finished added =
          fleet_->Cli({"suites", "add", absl::StrCat(fleet_->root(), "/suites/", name, ".textproto")});
      ASSERT_EQ(added.exit_code, 0) << added.errors;
    }
  }
  static void TearDownTestSuite() {
    if (fleet_ == nullptr) return;
    fleet_->Stop();
    EXPECT_THAT(fleet_->Leftovers(), IsEmpty());
    delete fleet_;
    EXPECT_THAT(LiveDescendants(), IsEmpty());
  }
  // After whatever happened a normal run works.
  void TearDown() override {
    const int64_t id = fleet_->StartRun({"host.clock", "--all", "--repeat", "2"});
    EXPECT_EQ(fleet_->WaitForRun(id).state(), v1::RUN_STATE_SUCCEEDED);
    for (const auto& host : fleet_->hosts()) EXPECT_THAT(host->Scratch(), IsEmpty());
    if (HasFailure()) GTEST_LOG_(INFO) << fleet_->Logs();
  }

  static std::string Ask(const std::string& question) {
    return testing::SqlValue(fleet_->collector().database(), question);
  }
  // Every record once, without a gap, and none set aside.
  static void ExpectWholeRecords(int64_t run) {
    const auto rows =
        testing::Sql(fleet_->collector().database(),
                     absl::StrCat("SELECT r.task_id, r.attempt, count(*), min(r.sequence), max(r.sequence) "
                                  "FROM fleetmark.record r JOIN fleetmark.task t ON t.id = r.task_id "
                                  "WHERE t.run_id = ",
                                  run, " GROUP BY 1, 2"));
    for (const std::vector<std::string>& row : rows) {
      ASSERT_THAT(row, SizeIs(5)) << absl::StrJoin(row, " ");
      EXPECT_EQ(row[3], "1");
      EXPECT_EQ(row[2], row[4]) << "records of task " << row[0] << " attempt " << row[1];
    }
    EXPECT_EQ(Ask("SELECT count(*) FROM fleetmark.quarantine"), "0");
  }

  // As a user who watches sees it: "alpha: 15%, host.clock, measuring".
  static std::string Phase(int64_t run) {
    const std::unique_ptr<Process> watch = fleet_->CliStart({"runs", "watch", absl::StrCat(run)});
    const auto seen = [&] {
      const size_t at = watch->errors().rfind("alpha: ");
      const size_t end = watch->errors().find('\n', at);
      return at == std::string::npos || end == std::string::npos ? "" : watch->errors().substr(at, end - at);
    };
    WaitUntil([&] { return seen().find("measuring") != std::string::npos; }, absl::Seconds(5));
    return absl::StrCat("\"", seen(), "\"");
  }

  // The highest sequence that the collector has of each host's task: "alpha 17, beta 16".
  static std::string Stored(int64_t run) {
    return Ask(
        absl::StrCat("SELECT coalesce(string_agg(host_name || ' ' || n, ', ' ORDER BY id), 'none') FROM "
                     "(SELECT t.id, t.host_name, max(r.sequence) AS n FROM fleetmark.record r JOIN fleetmark.task t"
                     " ON t.id = r.task_id WHERE t.run_id = ",
                     run, " GROUP BY t.id, t.host_name) AS s"));
  }
  static void PrintKill(const char* what, pid_t pid, const std::string& phase, const std::string& before, int64_t run) {
    std::printf("killed %s: pid %d, phase %s, sequences stored then: %s, recovered: %s\n", what, pid, phase.c_str(),
                before.c_str(), Stored(run).c_str());
  }

  static Fleet* fleet_;
  static FleetHost* host_;
};
Fleet* Kills::fleet_ = nullptr;
FleetHost* Kills::host_ = nullptr;

TEST_F(Kills, AnAgentComesBackAndItsTaskIsTriedAgain) {
  const int64_t id = fleet_->StartRun({"host.clock", "--all", "--repeat", "60"});
  ASSERT_TRUE(WaitUntil([&] {
    return std::atoi(Ask(absl::StrCat("SELECT count(*) FROM fleetmark.repetition r JOIN fleetmark.task t ON t.id = "
                                      "r.task_id WHERE t.host_name = 'alpha' AND t.run_id = ",
                                      id))
                         .c_str()) >= 5;
  }));
  const pid_t killed = host_->pid();
  const std::string phase = Phase(id);
  const std::vector<pid_t> workers = host_->Workers();
  host_->Kill();
  // No orphan goes on measuring.
  EXPECT_TRUE(WaitUntil([&] { return std::none_of(workers.begin(), workers.end(), Alive); }));
  const std::string highest = absl::StrCat(
      "SELECT max(sequence) FROM fleetmark.record r JOIN fleetmark.task t ON t.id = r.task_id WHERE run_id = ", id,
      " AND host_name = 'alpha' AND r.attempt = 1");
  const std::string before = Ask(highest), stored = Stored(id);
  EXPECT_TRUE(fleet_->WaitConnected("alpha", false));
  host_->Start();
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  for (const v1::Task& task : run.tasks()) {
    EXPECT_EQ(task.attempt(), task.host() == "alpha" ? 2U : 1U);
    EXPECT_EQ(task.repetitions(), 60U);
  }
  EXPECT_EQ(Ask(absl::StrCat("SELECT string_agg(a.state, ',' ORDER BY a.number) FROM fleetmark.attempt a JOIN "
                             "fleetmark.task t ON t.id = a.task_id WHERE t.host_name = 'alpha' AND t.run_id = ",
                             id)),
            "interrupted,finished");
  ExpectWholeRecords(id);
  EXPECT_GE(std::atoi(Ask(highest).c_str()), std::atoi(before.c_str()));
  PrintKill("agent", killed, phase, stored, id);
  for (const char* text : {"records wait", "interrupted", "queued again"}) {
    for (const std::string& line : host_->LogLines(text)) std::printf("  %s\n", line.c_str());
  }
}

// C-092: what a killed agent left behind goes with its next start, and nothing else.
TEST_F(Kills, C092AnAgentsFilesGoWithItsNextStart) {
  const int64_t id = fleet_->StartRun({"small-disk", "--hosts", "alpha"});
  const std::string own = host_->target() + "/fleetmark-notes.bin";
  WriteFile(own, "the user's own");
  ASSERT_TRUE(WaitUntil([&] { return host_->Scratch().size() > 2; })) << fleet_->Logs();
  // Worker and agent at once, as a power cut would: nobody cleans up.
  for (const pid_t worker : host_->Workers()) kill(worker, SIGSTOP);
  const std::vector<pid_t> workers = host_->Workers();
  host_->Kill();
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return std::none_of(workers.begin(), workers.end(), Alive); }));
  host_->Start();
  EXPECT_EQ(fleet_->WaitForRun(id).state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(ReadWholeFile(own), "the user's own");
  std::filesystem::remove(own);
  EXPECT_THAT(host_->Scratch(), IsEmpty());
}

TEST_F(Kills, AWorkersDeathFailsItsTaskAndTheNextGoesOn) {
  const int64_t id = fleet_->StartRun({"two", "--hosts", "alpha"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 3));
  std::vector<pid_t> workers;
  ASSERT_TRUE(WaitUntil([&] { return !(workers = host_->Workers()).empty(); }));
  const std::string phase = Phase(id), stored = Stored(id);
  kill(workers[0], SIGKILL);
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_PARTIAL);
  ASSERT_EQ(run.tasks_size(), 2);
  EXPECT_EQ(run.tasks(0).state(), v1::TASK_STATE_FAILED);
  EXPECT_THAT(run.tasks(0).reason(), HasSubstr("9"));
  EXPECT_EQ(run.tasks(1).state(), v1::TASK_STATE_SUCCEEDED);
  EXPECT_TRUE(host_->running());
  PrintKill("worker", workers[0], phase, stored, id);
  ExpectWholeRecords(id);
}

// C-130.
TEST_F(Kills, C130ACollectorComesBackAndTheRunGoesOn) {
  const int64_t id = fleet_->StartRun({"host.clock", "--all", "--repeat", "80"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 10));
  const std::unique_ptr<Process> watch = fleet_->CliStart({"runs", "watch", absl::StrCat(id)});
  EXPECT_TRUE(WaitUntil([&] { return watch->errors().find("alpha") != std::string::npos; }));
  const std::vector<pid_t> workers = host_->Workers();
  const pid_t killed = fleet_->collector().pid();
  const std::string phase = Phase(id), stored = Stored(id);
  fleet_->collector().Kill();
  ASSERT_TRUE(fleet_->collector().Start()) << fleet_->collector().log();
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  for (const v1::Task& task : run.tasks()) {
    EXPECT_EQ(task.attempt(), 1U) << task.host();  // not started again
    EXPECT_EQ(task.repetitions(), 80U);
  }
  ExpectWholeRecords(id);
  EXPECT_EQ(Ask(absl::StrCat("SELECT count(*) FROM fleetmark.repetition r JOIN fleetmark.task t ON t.id = r.task_id "
                             "WHERE NOT warmup AND t.run_id = ",
                             id)),
            "240");
  PrintKill("collector", killed, phase, stored, id);
  EXPECT_EQ(watch->WaitOrKill(absl::Minutes(2)), 0) << watch->errors();
  EXPECT_THAT(watch->errors(), HasSubstr("lost the collector"));
}

// C-115, with the whole server gone.
TEST_F(Kills, C115ADatabaseServerComesBack) {
  const int64_t id = fleet_->StartRun({"host.clock", "--all", "--repeat", "80"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 10));
  const std::string pid_file = fleet_->collector().state() + "/postgres/postmaster.pid";
  const pid_t postmaster = std::atoi(ReadWholeFile(pid_file).c_str());
  ASSERT_GT(postmaster, 1);
  ASSERT_THAT(CommandLineOf(postmaster), HasSubstr(fleet_->root()));
  const std::string phase = Phase(id), stored = Stored(id);
  const int records = std::atoi(Ask("SELECT count(*) FROM fleetmark.record").c_str());
  kill(postmaster, SIGKILL);
  EXPECT_TRUE(WaitUntil([&] {
    const pid_t now = std::atoi(ReadWholeFile(pid_file).c_str());
    return now > 1 && now != postmaster && Alive(now);
  })) << fleet_->collector().log();
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  for (const v1::Task& task : run.tasks()) {
    EXPECT_EQ(task.attempt(), 1U);
    EXPECT_EQ(task.repetitions(), 80U);
  }
  ExpectWholeRecords(id);
  EXPECT_GE(std::atoi(Ask("SELECT count(*) FROM fleetmark.record").c_str()), records);
  PrintKill("PostgreSQL", postmaster, phase, stored, id);
}

// Between the insert and the commit: nothing may have been acknowledged, since an acknowledged record is gone from the
// agent. A deferred trigger makes that moment last; what it looks at does not survive a crash.
TEST_F(Kills, ADatabaseServerThatDiesBeforeTheCommitHasAcknowledgedNothing) {
  ASSERT_EQ(Ask("CREATE UNLOGGED TABLE public.hold AS SELECT 1; "
                "CREATE FUNCTION public.hold_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "IF EXISTS (SELECT FROM public.hold) THEN PERFORM pg_sleep(600); END IF; RETURN NULL; END $$; "
                "CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON fleetmark.record DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION public.hold_commit()"),
            "(no rows)");
  const size_t ended = host_->LogLines(" succeeded").size(), waited = host_->LogLines("records wait").size();
  const int64_t id = fleet_->StartRun({"host.clock", "--hosts", "alpha", "--repeat", "10"});
  const auto sleeping = [] { return Ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"); };
  ASSERT_TRUE(WaitUntil([&] { return sleeping() == "1" && host_->LogLines(" succeeded").size() > ended; }));
  const std::string count = absl::StrCat(
      "SELECT count(*) FROM fleetmark.record WHERE task_id IN "
      "(SELECT t.id FROM fleetmark.task t WHERE run_id = ",
      id, ")");
  EXPECT_EQ(Ask(count), "0");
  const std::string pid_file = fleet_->collector().state() + "/postgres/postmaster.pid";
  const pid_t postmaster = std::atoi(ReadWholeFile(pid_file).c_str());
  ASSERT_GT(postmaster, 1);
  kill(postmaster, SIGKILL);
  host_->Kill();  // all that is left is what the agent kept and the database has committed
  ASSERT_TRUE(WaitUntil([&] { return Ask("SELECT count(*) FROM public.hold") == "0"; }));
  EXPECT_EQ(Ask(count), "0");
  host_->Start();
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_EQ(run.tasks_size(), 1);
  EXPECT_EQ(run.tasks(0).attempt(), 1U);
  EXPECT_EQ(run.tasks(0).repetitions(), 10U);
  EXPECT_GT(host_->LogLines("records wait").size(), waited);
  PrintKill("PostgreSQL", postmaster, "in the commit of the first records", "none", id);
  ExpectWholeRecords(id);
  Ask("DROP TRIGGER hold ON fleetmark.record; DROP FUNCTION public.hold_commit(); DROP TABLE public.hold");
}

// C-101, C-103: the collector is away for a whole task, and the agent is started anew meanwhile.
TEST_F(Kills, C101ResultsMeasuredWithoutACollectorArriveLater) {
  const int64_t id = fleet_->StartRun({"host.clock", "--hosts", "alpha", "--repeat", "40"});
  ASSERT_TRUE(fleet_->WaitForRepetitions(id, 1));
  const size_t ended = host_->LogLines(" succeeded").size();
  fleet_->collector().Kill();
  ASSERT_TRUE(WaitUntil([&] { return host_->LogLines(" succeeded").size() > ended; })) << host_->log();
  EXPECT_EQ(host_->Stop(), 0);
  host_->Start();
  EXPECT_TRUE(WaitUntil([&] { return !host_->LogLines("records wait for a collector").empty(); })) << host_->log();
  ASSERT_TRUE(fleet_->collector().Start()) << fleet_->collector().log();
  const v1::Run run = fleet_->WaitForRun(id);
  EXPECT_EQ(run.state(), v1::RUN_STATE_SUCCEEDED);
  ASSERT_EQ(run.tasks_size(), 1);
  EXPECT_EQ(run.tasks(0).attempt(), 1U);
  EXPECT_EQ(run.tasks(0).repetitions(), 40U);
  ExpectWholeRecords(id);
}

}  // namespace
}  // namespace fleetmark::test
