// What bad input gets: one line on stderr that names what, which, why and the way out, the exit code of its kind,
// nothing left behind, and the other hosts of a run go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/fleet.h"
#include "tests/support/loop_device.h"
#include "tests/support/postgres.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BadInput : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static_cast<void>(testing::TestServer());
    fleet_ = new Fleet();
    const std::string file = fleet_->root() + "/a-file";
    WriteFile(file, "not a directory");
    fleet_->AddHost("good");
    std::string targets = absl::StrCat("targets { name: \"missing\" path: \"", fleet_->root(), "/nowhere\" }\n",
                                       "targets { name: \"file\" path: \"", file, "\" }\n");
    if (std::filesystem::is_directory("/dev/shm")) {
      memory_ = std::make_unique<TempDirectory>("/dev/shm");
      targets += "targets { name: \"memory\" path: \"" + memory_->path() + "\" }\n";
    }
    if (absl::StatusOr<MountedImage> image = MountedImage::Make(32 << 20); image.ok()) {
      mounted_ = std::make_unique<MountedImage>(*std::move(image));
      targets += "targets { name: \"tiny\" path: \"" + mounted_->path() + "\" }\n";
    } else {
      no_mount_ = std::string(image.status().message());
    }
    if (absl::StatusOr<MountedImage> image = MountedImage::Make(32 << 20); image.ok()) {
      read_only_ = std::make_unique<MountedImage>(*std::move(image));
      ASSERT_EQ(mount(nullptr, read_only_->path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
      targets += "targets { name: \"frozen\" path: \"" + read_only_->path() + "\" }\n";
    }
    fleet_->AddHost("bad", targets);
    WriteFile(fleet_->root() + "/quick.textproto",
              "name: \"disk-quick\"\nversion: 1\nquiet_wait_seconds: 0\n"
              "entries { workload: \"disk.profile\"\n"
              "  parameters { key: \"size\" value: \"16MiB\" } parameters { key: \"seconds\" value: \"100ms\" }\n"
              "  parameters { key: \"ramp\" value: \"0s\" } parameters { key: \"operations\" value: \"read\" }\n"
              "  repetitions { exactly: 1 } }\n");
    ASSERT_EQ(fleet_->Cli({"suites", "add", fleet_->root() + "/quick.textproto"}).exit_code, 0);
  }
  static void TearDownTestSuite() {
    if (fleet_ == nullptr) return;
    fleet_->Stop();
    EXPECT_THAT(fleet_->Leftovers(), IsEmpty());
    delete fleet_;
    mounted_.reset();
    read_only_.reset();
    memory_.reset();
  }
  void TearDown() override {
    if (HasFailure()) GTEST_LOG_(INFO) << fleet_->Logs();
  }

  // One line, that starts with the program's name and says all of `words`.
  static void ExpectOneLine(const Finished& finished, int exit_code, const std::vector<std::string>& words) {
    EXPECT_EQ(finished.exit_code, exit_code) << finished.errors << finished.output;
    EXPECT_EQ(finished.output, "");
    EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1) << finished.errors;
    EXPECT_THAT(finished.errors, ::testing::StartsWith("fleetmark"));
    for (const std::string& word : words) EXPECT_THAT(finished.errors, HasSubstr(word));
  }

  // A run on both hosts where `bad` cannot: partial, exit code 1, the reason shown, the good host has measured.
  static void ExpectOtherGoesOn(const std::string& target, const std::vector<std::string>& words) {
    SCOPED_TRACE(target);
    const Finished run =
        fleet_->Cli({"run", "disk-quick", "--hosts", "good,bad", "--target", "default", "--target", "bad=" + target});
    EXPECT_EQ(run.exit_code, 1) << run.errors << run.output;
    v1::Run shown;
    ASSERT_TRUE(fleet_->CliJson({"runs", "show"}, shown).ok());
    EXPECT_EQ(shown.state(), v1::RUN_STATE_PARTIAL);
    for (const v1::Task& task : shown.tasks()) {
      if (task.host() == "good") {
        EXPECT_EQ(task.state(), v1::TASK_STATE_SUCCEEDED) << task.reason();
        continue;
      }
      EXPECT_THAT(task.state(), AnyOf(v1::TASK_STATE_SKIPPED, v1::TASK_STATE_FAILED)) << task.reason();
      for (const std::string& word : words) EXPECT_THAT(task.reason(), HasSubstr(word));
      // One line of stderr says all of it.
      const std::string start = absl::StrCat("fleetmark: bad: ", task.workload(), " on ", target, " ");
      const size_t at = run.errors.find(start);
      ASSERT_NE(at, std::string::npos) << run.errors;
      EXPECT_EQ(run.errors.find(start, at + 1), std::string::npos) << run.errors;
      EXPECT_THAT(run.errors.substr(at, run.errors.find('\n', at) - at), HasSubstr(task.reason()));
    }
  }

  static Fleet* fleet_;
  static std::unique_ptr<TempDirectory> memory_;
  static std::unique_ptr<MountedImage> mounted_, read_only_;
  static std::string no_mount_;
};
Fleet* BadInput::fleet_ = nullptr;
std::unique_ptr<TempDirectory> BadInput::memory_;
std::unique_ptr<MountedImage> BadInput::mounted_, BadInput::read_only_;
std::string BadInput::no_mount_;

TEST_F(BadInput, NamesWhatIsUnknown) {
  const auto run = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    return fleet_->Cli(words);
  };
  ExpectOneLine(run({"host.clock", "--hosts", "gooo"}), 4, {"gooo", "good"});
  ExpectOneLine(run({"quik", "--all"}), 4, {"quik", "quick"});
  ExpectOneLine(run({"host.clok", "--all"}), 4, {"host.clok", "host.clock"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "sise=1GiB"}), 2, {"sise", "size"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "disk.profile.sise=1GiB"}), 2, {"sise"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size=1GiX"}), 2, {"size", "1GiX"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size=1TiBiB"}), 2, {"size"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size=1GiB; rm -rf /"}), 2, {"size"});  // C-176
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size=1KiB"}), 2, {"size", "range", "16 MiB"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "seconds=-1s"}), 2, {"seconds"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "operations=reed"}), 2, {"operations", "read"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size"}), 2, {"--set", "size"});
  ExpectOneLine(run({"disk-quick", "--all", "--set", "size=1GiB", "--set", "disk.profile.size=2GiB"}), 2, {"twice"});
  ExpectOneLine(run({"disk-quick", "--all", "--target", "defolt"}), 4, {"defolt", "default"});
  ExpectOneLine(run({"disk-quick", "--all", "--target", "nobody=default"}), 4, {"nobody"});
  ExpectOneLine(run({"host.clock", "--where", "room=cellar"}), 4, {});
  ExpectOneLine(fleet_->Cli({"compare", "gooo"}), 4, {"gooo"});
  ExpectOneLine(fleet_->Cli({"compare", "run:999999"}), 4, {"999999"});
  ExpectOneLine(fleet_->Cli({"runs", "cancel", "999999"}), 4, {"999999"});
  ExpectOneLine(fleet_->Cli({"hosts", "label", "good", "=x"}), 2, {});
  ExpectOneLine(fleet_->Cli({"suites", "add", fleet_->root() + "/nowhere.textproto"}), 2, {"nowhere.textproto"});
  ExpectOneLine(fleet_->Cli({"suites", "add", fleet_->root()}), 2, {"is a directory"});
  // None of them left a run behind.
  v1::ListRunsResponse runs;
  ASSERT_TRUE(fleet_->CliJson({"runs"}, runs).ok());
  for (const v1::Run& each : runs.runs()) EXPECT_NE(each.state(), v1::RUN_STATE_RUNNING);
}

TEST_F(BadInput, ValuesThatNoAgentCouldUseMakeNoRun) {
  v1::ListRunsResponse before, after;
  ASSERT_TRUE(fleet_->CliJson({"runs"}, before).ok());
  const auto run = [](const std::string& setting) {
    return fleet_->Cli({"run", "disk.profile", "--hosts", "good", "--set", setting});
  };
  ExpectOneLine(run("size=17MB"), 2, {"size", "17000000 B", "multiple of 1 MiB"});
  ExpectOneLine(run("seconds=100ms"), 2, {"ramp (1 s)", "below", "seconds (0.1 s)"});
  ASSERT_TRUE(fleet_->CliJson({"runs"}, after).ok());
  EXPECT_EQ(after.runs_size(), before.runs_size());
}

TEST_F(BadInput, ATargetThatIsNotThereStopsOnlyItsHost) {
  ExpectOtherGoesOn("missing", {"missing", "does not exist"});
  ExpectOtherGoesOn("file", {"file", "neither a directory nor"});
}

TEST_F(BadInput, ATargetInMemoryIsRefused) {
  if (memory_ == nullptr) GTEST_SKIP() << "there is no /dev/shm";
  ExpectOtherGoesOn("memory", {"in memory"});
}

TEST_F(BadInput, AReadOnlyTargetIsRefused) {
  if (read_only_ == nullptr) GTEST_SKIP() << "no loop device can be mounted: " << no_mount_;
  ExpectOtherGoesOn("frozen", {"read-only"});
}

TEST_F(BadInput, C094ATargetWithTooLittleRoomIsRefusedWithTheNumbers) {
  if (mounted_ == nullptr) GTEST_SKIP() << "no loop device can be mounted: " << no_mount_;
  std::ofstream fill(mounted_->path() + "/fill", std::ios::binary);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 18; ++i) fill << block;
  fill.close();
  ExpectOtherGoesOn("tiny", {"MB are free", "--set"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(mounted_->path()), {}), 2);  // fill, lost+found
}

TEST_F(BadInput, ATargetNobodyNamedIsRefusedWithTheLineThatWouldAllowIt) {
  const Finished run = fleet_->Cli({"run", "disk-quick", "--hosts", "good,bad", "--target", "missing"});
  EXPECT_EQ(run.exit_code, 1);
  v1::Run shown;
  ASSERT_TRUE(fleet_->CliJson({"runs", "show"}, shown).ok());
  for (const v1::Task& task : shown.tasks()) {
    if (task.host() == "good") {
      EXPECT_EQ(task.state(), v1::TASK_STATE_SKIPPED);
      EXPECT_THAT(task.reason(), AllOf(HasSubstr("missing"), HasSubstr("configuration"),
                                       HasSubstr("targets { name: \"missing\" path: \"")));
    }
  }
}

TEST_F(BadInput, AComparisonWithoutResultsSaysWhyThereAreNone) {
  const Finished run = fleet_->Cli({"run", "disk-quick", "--hosts", "bad", "--target", "missing"});
  EXPECT_EQ(run.exit_code, 1);
  v1::Run shown;
  ASSERT_TRUE(fleet_->CliJson({"runs", "show"}, shown).ok());
  const std::string id = absl::StrCat(shown.id());
  ExpectOneLine(fleet_->Cli({"compare", "--run", id}), 4,
                {"run " + id, "no results", "does not exist", "runs show " + id});
  ExpectOneLine(fleet_->Cli({"compare", "bad", "--target", "missing"}), 4, {"bad missing", "does not exist"});
  ExpectOneLine(fleet_->Cli({"compare", "good", "bad", "--target", "nope"}), 4, {"\"nope\""});
}

TEST_F(BadInput, AnAgentThatIsAwayIsNamedAndItsTaskWaits) {
  FleetHost& host = fleet_->host("bad");
  EXPECT_EQ(host.Stop(), 0);
  ASSERT_TRUE(fleet_->WaitConnected("bad", false));
  const std::unique_ptr<Process> run = fleet_->CliStart({"run", "host.clock", "--hosts", "good,bad"});
  EXPECT_TRUE(WaitUntil([&] { return run->errors().find("good: 100%") != std::string::npos; })) << run->errors();
  EXPECT_THAT(run->errors(), AllOf(HasSubstr("warning: bad is not connected"), HasSubstr("unreachable")));
  EXPECT_TRUE(run->running());
  host.Start();
  EXPECT_EQ(run->WaitOrKill(absl::Minutes(1)), 0) << run->errors();
}

TEST_F(BadInput, NoCollectorIsItsOwnExitCode) {
  ExpectOneLine(fleet_->Cli({"--collector", "127.0.0.1:1", "hosts"}), 3, {"127.0.0.1:1"});
  const std::string enrolment = fleet_->collector().enroll_address();
  ExpectOneLine(fleet_->Cli({"--collector", enrolment, "hosts"}), 3, {enrolment, "enrolment port", "7401"});
  Launch stranger = fleet_->CliLaunch({"hosts"});
  stranger.arguments[2] = fleet_->root() + "/nobody";
  ExpectOneLine(RunToEnd(stranger), 3, {"no collector is known here", "fleetmark login"});
}

TEST_F(BadInput, C180AWrongOrUsedTokenJoinsNothing) {
  const std::string line = [] {
    const Finished invited = fleet_->Cli({"hosts", "invite", "--line-only"});
    return invited.output.substr(0, invited.output.find('\n'));
  }();
  const auto join = [&](const std::string& with, const std::string& where) {
    Launch launch;
    const std::string directory = fleet_->root() + "/" + where;
    launch.arguments = {Program("fleetmark-agent"),
                        "join",
                        "--state-dir",
                        directory + "/state",
                        "--config",
                        directory + "/config/agent.textproto",
                        with};
    launch.environment = fleet_->Environment(fleet_->root() + "/home");
    return RunToEnd(launch);
  };
  EXPECT_EQ(join(line, "joiner").exit_code, 0);
  const Finished used = join(line, "second");
  EXPECT_NE(used.exit_code, 0);
  EXPECT_THAT(used.errors, AllOf(HasSubstr("used already"), HasSubstr("invitation")));
  EXPECT_EQ(std::count(used.errors.begin(), used.errors.end(), '\n'), 1) << used.errors;
  EXPECT_FALSE(std::filesystem::exists(fleet_->root() + "/second"));

  std::string mistyped = line;
  mistyped[mistyped.size() - 12] = mistyped[mistyped.size() - 12] == 'x' ? 'y' : 'x';
  const Finished typo = join(mistyped, "third");
  EXPECT_EQ(typo.exit_code, 2) << typo.errors;
  EXPECT_EQ(std::count(typo.errors.begin(), typo.errors.end(), '\n'), 1) << typo.errors;
  EXPECT_FALSE(std::filesystem::exists(fleet_->root() + "/third"));
  const Finished again = join(line, "joiner");
  EXPECT_NE(again.exit_code, 0);
  EXPECT_THAT(again.errors, AllOf(HasSubstr("identity already"), HasSubstr("reset-id")));

  EXPECT_EQ(fleet_->Cli({"hosts", "invite", "--valid", "soon"}).exit_code, 2);
  std::filesystem::remove_all(fleet_->root() + "/joiner");
  v1::ListHostsResponse hosts;
  ASSERT_TRUE(fleet_->CliJson({"hosts"}, hosts).ok());
  for (const v1::Host& host : hosts.hosts()) {
    if (host.name() != "good" && host.name() != "bad") fleet_->Cli({"hosts", "remove", host.id()});
  }
}

TEST_F(BadInput, C180AnotherFleetsAuthorityIsRefusedByBothSides) {
  FleetOptions options;
  options.database = testing::NewEmptyDatabase();
  Fleet other(options);
  // A user of one fleet at the other's collector.
  const Finished stranger = fleet_->Cli({"--collector", other.collector().address(), "hosts"});
  EXPECT_EQ(stranger.exit_code, 3) << stranger.errors;
  EXPECT_THAT(stranger.errors, HasSubstr("belongs to another fleet"));
  // A line whose address leads to the other fleet.
  const Finished invited = fleet_->Cli({"hosts", "invite", "--line-only"});
  std::string line = invited.output.substr(0, invited.output.find('\n'));
  const auto port_of = [](const std::string& address) { return address.substr(address.rfind(':') + 1); };
  const std::string mine = "/" + port_of(fleet_->collector().enroll_address()) + "/";
  ASSERT_NE(line.find(mine), std::string::npos) << line;
  // Rewritten by somebody in between the check would not fit; so his collector listens where the right one did.
  EXPECT_EQ(other.collector().Stop(), 0);
  EXPECT_EQ(fleet_->collector().Stop(), 0);
  other.collector().Listen("", fleet_->collector().enroll_address());
  ASSERT_TRUE(other.collector().Start()) << other.collector().log();
  Launch launch;
  const std::string directory = fleet_->root() + "/victim";
  launch.arguments = {Program("fleetmark-agent"),
                      "join",
                      "--state-dir",
                      directory + "/state",
                      "--config",
                      directory + "/config/agent.textproto",
                      line};
  launch.environment = fleet_->Environment(fleet_->root() + "/home");
  const Finished victim = RunToEnd(launch);
  EXPECT_EQ(victim.exit_code, 1) << victim.errors;
  EXPECT_THAT(victim.errors, AllOf(HasSubstr("not the fleet of this line"), HasSubstr("nothing was sent")));
  EXPECT_FALSE(std::filesystem::exists(directory + "/state/identity/agent.pem"));
  other.Stop();
  EXPECT_THAT(other.Leftovers(), IsEmpty());
  ASSERT_TRUE(fleet_->collector().Start()) << fleet_->collector().log();
  std::filesystem::remove_all(directory);
  EXPECT_TRUE(fleet_->WaitConnected("good") && fleet_->WaitConnected("bad"));
}

TEST_F(BadInput, ACollectorSaysWhichDatabaseItWillNotUse) {
  const auto start = [](const std::string& database, const std::string& where) {
    const std::string state = fleet_->root() + "/" + where;
    Launch launch = fleet_->collector().MakeLaunch({"start", "--listen", "127.0.0.1:0", "--enroll-listen",
                                                    "127.0.0.1:0", "--database", database, "--state-dir", state,
                                                    "--config-dir", state + "-config"});
    const Finished finished = RunToEnd(launch, absl::Seconds(60));
    EXPECT_FALSE(std::filesystem::exists(state + "/ready"));
    std::filesystem::remove_all(state);
    std::filesystem::remove_all(state + "-config");
    return finished;
  };
  const std::string foreign = testing::NewEmptyDatabase();
  testing::Sql(foreign, "CREATE TABLE invoices (id int)");
  ExpectOneLine(start(foreign, "foreign"), 1, {"not ours", "invoices", "createdb"});
  EXPECT_EQ(testing::SqlValue(foreign, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fleetmark%'"), "0");

  const std::string newer = testing::NewDatabase();
  testing::Sql(newer, "INSERT INTO fleetmark.schema_version (version, name) VALUES (9999, 'of the future')");
  ExpectOneLine(start(newer, "newer"), 1, {"9999", "newer"});

  ExpectOneLine(start("service=nosuch", "service"), 1, {"nosuch", "pg_service.conf"});
  ExpectOneLine(start("postgres://u:s3cret@127.0.0.1/x", "secret"), 2, {"password"});  // C-179
  EXPECT_THAT(start("postgres://u:s3cret@127.0.0.1/x", "secret").errors, Not(HasSubstr("s3cret")));
}

TEST_F(BadInput, ADatabaseThatIsDownIsSaidAndWaitedFor) {
  const std::string state = fleet_->root() + "/waiting";
  const std::string database = "host=127.0.0.1 port=1 user=nobody dbname=x";
  Launch launch =
      fleet_->collector().MakeLaunch({"start", "--listen", "127.0.0.1:0", "--enroll-listen", "127.0.0.1:0",
                                      "--database", database, "--state-dir", state, "--config-dir", state + "-config"});
  Process process(launch);
  EXPECT_TRUE(WaitUntil([&] { return process.errors().find("waiting for the database") != std::string::npos; }))
      << process.errors();
  EXPECT_TRUE(process.running());
  process.Send(SIGTERM);
  EXPECT_EQ(process.WaitOrKill(absl::Seconds(20)), 0) << process.errors();
  EXPECT_THAT(process.errors(), AllOf(HasSubstr("start it"), Not(HasSubstr("does not take our work"))));
  std::filesystem::remove_all(state);
}

TEST_F(BadInput, APortInUseIsNamedBeforeAnythingElse) {
  const std::string state = fleet_->root() + "/late";
  const Finished finished = RunToEnd(fleet_->collector().MakeLaunch(
      {"start", "--listen", fleet_->collector().address(), "--enroll-listen", "127.0.0.1:0", "--state-dir", state}));
  const std::string address = fleet_->collector().address();
  ExpectOneLine(finished, 1, {address.substr(address.rfind(':') + 1), "127.0.0.1", "--listen"});
  EXPECT_FALSE(std::filesystem::exists(state)) << "nothing is left, not even the lock";
  const Finished nowhere = RunToEnd(fleet_->collector().MakeLaunch({"start", "--listen", "foo", "--state-dir", state}));
  ExpectOneLine(nowhere, 1, {"--listen foo", "give HOST:PORT"});
  const Finished joined = RunToEnd(fleet_->collector().MakeLaunch({"join", "foo", "--state-dir", state}));
  EXPECT_EQ(joined.exit_code, 2) << joined.errors;
  EXPECT_FALSE(std::filesystem::exists(state));
  const Finished twice = RunToEnd(fleet_->collector().MakeLaunch({"start"}));
  ExpectOneLine(twice, 1, {"in use by process", absl::StrCat(fleet_->collector().pid())});
}

// C-104: a second agent with the same state directory.
TEST_F(BadInput, C104ASecondAgentNamesTheFirst) {
  FleetHost& host = fleet_->host("good");
  const Finished second = RunToEnd(host.Agent("start"), absl::Seconds(60));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.errors, AllOf(HasSubstr("in use by process"), HasSubstr(absl::StrCat(host.pid()))));
  EXPECT_TRUE(host.running());
}

// C-125: a copied image, started on another machine (it has another boot id).
TEST_F(BadInput, C125ACloneIsRefusedWithBothNames) {
  if (geteuid() != 0) GTEST_SKIP() << "another machine's boot id needs a mount namespace, and that root";
  FleetHost& host = fleet_->host("good");
  const std::string copy = fleet_->root() + "/clone";
  std::filesystem::copy(host.state(), copy, std::filesystem::copy_options::recursive);
  const std::string boot_id = fleet_->root() + "/boot_id";
  WriteFile(boot_id, "11111111-2222-3333-4444-555555555555\n");
  Launch launch = host.Agent("start");
  launch.arguments[3] = copy;
  launch.binds["/proc/sys/kernel/random/boot_id"] = boot_id;
  launch.host_name = "the-clone";
  Process clone(launch);
  EXPECT_TRUE(WaitUntil([&] { return clone.errors().find("reset-id") != std::string::npos; })) << clone.errors();
  EXPECT_THAT(clone.errors(), AllOf(HasSubstr("in use"), HasSubstr("good"), HasSubstr("the-clone")));
  // The right one stays connected and works.
  const int64_t id = fleet_->StartRun({"host.clock", "--hosts", "good"});
  EXPECT_EQ(fleet_->WaitForRun(id).state(), v1::RUN_STATE_SUCCEEDED);
  clone.Send(SIGTERM);
  EXPECT_EQ(clone.WaitOrKill(absl::Seconds(20)), 0);
  std::filesystem::remove_all(copy);
}

// C-095: an agent that cannot write its state stays connected, takes no task and says why.
TEST_F(BadInput, C095AStateThatCannotBeWrittenRefusesTasksAndSaysSo) {
  if (geteuid() != 0) GTEST_SKIP() << "a read-only file system needs root";
  absl::StatusOr<MountedImage> image = MountedImage::Make(32 << 20);
  if (!image.ok()) GTEST_SKIP() << "no loop device can be mounted: " << image.status().message();
  FleetHost& host = fleet_->host("bad");
  EXPECT_EQ(host.Stop(), 0);
  const std::string state = image->path() + "/state";
  std::filesystem::copy(host.state(), state, std::filesystem::copy_options::recursive);
  ASSERT_EQ(mount(nullptr, image->path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  Launch launch = host.Agent("start");
  launch.arguments[3] = state;
  Process agent(launch);
  EXPECT_TRUE(fleet_->WaitConnected("bad")) << agent.errors();
  v1::Host shown;
  EXPECT_TRUE(WaitUntil([&] {
    return fleet_->CliJson({"hosts", "show", "bad"}, shown).ok() && !shown.refuses_tasks_because().empty();
  })) << agent.errors();
  std::printf("it refuses because: %s\n", shown.refuses_tasks_because().c_str());
  EXPECT_TRUE(agent.running());
  const int64_t id = fleet_->StartRun({"host.clock", "--hosts", "bad"});
  v1::Run run;
  EXPECT_TRUE(WaitUntil([&] {
    run = fleet_->Run(id);
    return run.tasks_size() == 1 && !run.tasks(0).reason().empty();
  })) << run.DebugString();
  EXPECT_EQ(run.tasks(0).state(), v1::TASK_STATE_QUEUED);
  agent.Send(SIGTERM);
  EXPECT_EQ(agent.WaitOrKill(absl::Seconds(20)), 0) << agent.errors();
  host.Start();
  EXPECT_EQ(fleet_->WaitForRun(id).state(), v1::RUN_STATE_SUCCEEDED);
}

// C-065, C-156, C-182: names that are markup, terminal sequences, quotes or formulas come out harmless everywhere.
TEST_F(BadInput, C156NamesThatWantToBeSomethingElseStayText) {
  FleetHost& host = fleet_->host("good");
  for (const std::string& name : std::vector<std::string>{"x\"><img src=x onerror=alert(1)>", "'; drop table runs;--",
                                                          "=HYPERLINK(\"http://x\")", "-dash", "${7*7}"}) {
    const Finished renamed = fleet_->Cli({"hosts", "rename", host.id(), "--", name});
    if (renamed.exit_code != 0) {
      EXPECT_EQ(renamed.exit_code, 2) << renamed.errors;
      continue;
    }
    v1::Host shown;
    EXPECT_TRUE(fleet_->CliJson({"hosts", "show", host.id()}, shown).ok());
    EXPECT_EQ(shown.name(), name);
    EXPECT_EQ(fleet_->Cli({"hosts"}).exit_code, 0);
    EXPECT_THAT(fleet_->Cli({"hosts", "--output", "csv"}).output, Not(HasSubstr("\n=HYPERLINK")));
    EXPECT_EQ(fleet_->Cli({"run", "host.clock", "--host=" + host.id()}).exit_code, 0);
  }
  for (const std::string& name : std::vector<std::string>{"red\x1b[31m", "two\nlines", "caf\xe9", ""}) {
    const Finished renamed = fleet_->Cli({"hosts", "rename", host.id(), "--", name});
    EXPECT_EQ(renamed.exit_code, 2) << name << renamed.errors;
    EXPECT_THAT(renamed.errors, Not(HasSubstr("\x1b")));
  }
  const Finished named = fleet_->Cli({"run", "host.clock", "--all", "--name", "evil\x1b[2J\n</script>"});
  EXPECT_THAT(fleet_->Cli({"runs"}).output, Not(HasSubstr("\x1b[2J")));
  EXPECT_THAT(named.errors, Not(HasSubstr("\x1b[2J")));
  EXPECT_EQ(fleet_->Cli({"hosts", "rename", host.id(), "--", "good"}).exit_code, 0);
}

}  // namespace
}  // namespace fleetmark::test
