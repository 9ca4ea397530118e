// A user's day with three machines: enrol, look, run, watch, cancel, compare. Through the three real programs.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/support/fleet.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// A small file and short jobs, and no wait for a quiet machine: what is shown is the path, not a speed.
constexpr char kSmallDisk[] = R"(name: "small"
version: 1
quiet_wait_seconds: 0
entries {
  workload: "disk.profile"
  parameters { key: "size" value: "16MiB" }
  parameters { key: "seconds" value: "100ms" }
  parameters { key: "ramp" value: "0s" }
  parameters { key: "operations" value: "read" }
  repetitions { exactly: 1 }
}
entries { workload: "host.clock" repetitions { exactly: 2 } }
)";

class ThreeHosts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fleet_ = new Fleet({.machines = true});
    for (const char* name : {"mac-pro", "thinkpad", "macbook"}) {
      fleet_->AddHost(name,
                      absl::StrCat("targets { name: \"second\" path: \"", fleet_->root(), "/", name, "/target\" }"));
    }
    WriteFile(fleet_->root() + "/small.textproto", kSmallDisk);
    const Finished added = fleet_->Cli({"suites", "add", fleet_->root() + "/small.textproto"});
    ASSERT_EQ(added.exit_code, 0) << added.errors;
  }
  static void TearDownTestSuite() {
    if (fleet_ == nullptr) return;
    fleet_->Stop();
    EXPECT_THAT(fleet_->Leftovers(), IsEmpty());
    delete fleet_;
    EXPECT_THAT(Network::Left(), IsEmpty());
    EXPECT_THAT(LiveDescendants(), IsEmpty());
  }
  void TearDown() override {
    for (const auto& host : fleet_->hosts()) {
      EXPECT_TRUE(host->running()) << host->log();
      EXPECT_TRUE(WaitUntil([&] { return host->Workers().empty() && host->Scratch().empty(); }))
          << absl::StrJoin(host->Scratch(), "\n");
    }
    if (HasFailure()) GTEST_LOG_(INFO) << fleet_->Logs();
  }

  static std::set<std::string> HostsOf(const v1::Run& run) {
    std::set<std::string> hosts;
    for (const v1::Task& task : run.tasks()) hosts.insert(task.host());
    return hosts;
  }

  static Fleet* fleet_;
};
Fleet* ThreeHosts::fleet_ = nullptr;

// The only thing on stdout is one JSON document.
bool IsOneJsonDocument(const std::string& text) {
  google::protobuf::Value value;
  return google::protobuf::util::JsonStringToMessage(text, &value).ok();
}

size_t LinesIn(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

TEST_F(ThreeHosts, AreListedWithWhatIsKnownOfThem) {
  v1::ListHostsResponse hosts;
  ASSERT_TRUE(fleet_->CliJson({"hosts"}, hosts).ok());
  std::vector<std::string> names;
  for (const v1::Host& host : hosts.hosts()) {
    names.push_back(host.name());
    EXPECT_TRUE(host.connected());
    EXPECT_GT(host.usable_cpus(), 0);
    EXPECT_GT(host.memory_bytes(), 0);
    if (fleet_->machines_refused().empty()) {
      EXPECT_EQ(host.reported_name(), host.name());
    }
  }
  EXPECT_THAT(names, UnorderedElementsAre("mac-pro", "thinkpad", "macbook"));

  v1::Host shown;
  ASSERT_TRUE(fleet_->CliJson({"hosts", "show", "mac-pro"}, shown).ok());
  EXPECT_EQ(shown.inventory().targets_size(), 2);
  EXPECT_EQ(fleet_->Cli({"hosts", "show", shown.id().substr(0, 8)}).exit_code, 0);

  const Finished disks = fleet_->Cli({"disks"});
  EXPECT_EQ(disks.exit_code, 0);
  for (const char* text : {"mac-pro", "thinkpad", "macbook", "default", "second"}) {
    EXPECT_THAT(disks.output, HasSubstr(text));
  }
  EXPECT_EQ(fleet_->Cli({"disks", "thinkpad"}).exit_code, 0);
  for (const char* command : {"workloads", "suites", "status"}) {
    EXPECT_EQ(fleet_->Cli({command}).exit_code, 0) << command;
  }
  EXPECT_THAT(fleet_->Cli({"workloads", "disk.profile"}).output, AllOf(HasSubstr("size"), HasSubstr("ramp")));
  EXPECT_THAT(fleet_->Cli({"suites", "small"}).output, HasSubstr("disk.profile"));
}

TEST_F(ThreeHosts, AreLabelledRenamedAndChosenByLabel) {
  EXPECT_EQ(fleet_->Cli({"hosts", "label", "mac-pro", "room=attic", "slot=2"}).exit_code, 0);
  EXPECT_EQ(fleet_->Cli({"hosts", "label", "thinkpad", "room=attic"}).exit_code, 0);
  EXPECT_EQ(fleet_->Cli({"hosts", "label", "mac-pro", "slot-"}).exit_code, 0);
  v1::ListHostsResponse attic;
  ASSERT_TRUE(fleet_->CliJson({"hosts", "--where", "room=attic"}, attic).ok());
  EXPECT_EQ(attic.hosts_size(), 2);
  EXPECT_EQ(fleet_->Cli({"hosts", "--where", "slot=2"}).exit_code, 4);

  const int64_t id = fleet_->StartRun({"host.clock", "--where", "room=attic"});
  EXPECT_THAT(HostsOf(fleet_->WaitForRun(id)), UnorderedElementsAre("mac-pro", "thinkpad"));

  EXPECT_EQ(fleet_->Cli({"hosts", "rename", "macbook", "air"}).exit_code, 0);
  EXPECT_EQ(fleet_->Cli({"hosts", "show", "macbook"}).exit_code, 4);
  EXPECT_EQ(fleet_->Cli({"hosts", "rename", "air", "thinkpad"}).exit_code, 1);  // taken
  EXPECT_EQ(fleet_->Cli({"hosts", "rename", "air", "macbook"}).exit_code, 0);
}

TEST_F(ThreeHosts, RunTogetherAndAreCompared) {
  const Finished run = fleet_->Cli({"run", "host.clock", "--all", "--repeat", "3", "--name", "first", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  v1::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(run.output, &report).ok()) << run.output;
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(report.run().name(), "first");
  EXPECT_THAT(HostsOf(report.run()), UnorderedElementsAre("mac-pro", "thinkpad", "macbook"));
  for (const v1::Task& task : report.run().tasks()) EXPECT_EQ(task.repetitions(), 3U);
  EXPECT_EQ(report.comparison().columns_size(), 3);
  for (const v1::ComparisonRow& row : report.comparison().rows()) {
    for (const v1::ComparisonCell& cell : row.cells()) EXPECT_GT(cell.median(), 0) << row.metric();
  }
  // Every host said something while it ran, on stderr.
  for (const char* name : {"mac-pro", "thinkpad", "macbook"}) EXPECT_THAT(run.errors, HasSubstr(name));

  const std::string id = absl::StrCat(report.run().id());
  const Finished table = fleet_->Cli({"compare", "mac-pro", "thinkpad", "macbook"});
  EXPECT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(table.output, AllOf(HasSubstr("mac-pro"), HasSubstr("cost"), HasSubstr("step")));
  EXPECT_EQ(fleet_->Cli({"compare", "--run", id}).exit_code, 0);
  const int64_t second = fleet_->StartRun({"host.clock", "--all"});
  EXPECT_EQ(fleet_->WaitForRun(second).state(), v1::RUN_STATE_SUCCEEDED);
  const Finished two = fleet_->Cli({"compare", "run:" + id, absl::StrCat("run:", second), "--output", "csv"});
  EXPECT_EQ(two.exit_code, 0) << two.errors;
  EXPECT_GE(LinesIn(two.output), 2U);
  EXPECT_THAT(fleet_->Cli({"runs"}).output, HasSubstr("first"));
  EXPECT_THAT(fleet_->Cli({"runs", "show", id}).output, HasSubstr("thinkpad"));
  EXPECT_THAT(fleet_->Cli({"runs", "watch", id}).output, HasSubstr("mac-pro"));
}

TEST_F(ThreeHosts, MeasureTheirDisksOneAfterTheOther) {
  const Finished run = fleet_->Cli({"run", "small", "--hosts", "mac-pro,thinkpad", "--serial", "--target", "default",
                                    "--target", "thinkpad=second", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  v1::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(run.output, &report).ok()) << run.output;
  std::map<std::string, std::pair<double, double>> span;
  for (const v1::Task& task : report.run().tasks()) {
    EXPECT_EQ(task.state(), v1::TASK_STATE_SUCCEEDED) << task.workload() << ": " << task.reason();
    if (task.workload() == "disk.profile") {
      EXPECT_EQ(task.target(), task.host() == "thinkpad" ? "second" : "default");
      EXPECT_EQ(task.parameters().at("size").number(), 16 << 20);
    }
    auto [at, fresh] = span.emplace(task.host(), std::pair(task.started_unix_seconds(), task.finished_unix_seconds()));
    at->second.first = std::min(at->second.first, task.started_unix_seconds());
    at->second.second = std::max(at->second.second, task.finished_unix_seconds());
  }
  ASSERT_EQ(span.size(), 2U);
  const auto [first, second] = span["mac-pro"] < span["thinkpad"] ? std::pair(span["mac-pro"], span["thinkpad"])
                                                                  : std::pair(span["thinkpad"], span["mac-pro"]);
  EXPECT_LE(first.second, second.first);
  bool some_rate = false;
  for (const v1::ComparisonRow& row : report.comparison().rows()) {
    some_rate = some_rate || (row.workload() == "disk.profile" && row.cells(0).median() > 0);
  }
  EXPECT_TRUE(some_rate);
}

TEST_F(ThreeHosts, TakeParametersAndRepetitionsFromTheCommandLine) {
  const Finished run = fleet_->Cli({"run", "small", "--hosts", "macbook", "--set", "disk.profile.size=32MiB", "--set",
                                    "seconds=0.1s", "--repeat", "2", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  v1::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(run.output, &report).ok());
  for (const v1::Task& task : report.run().tasks()) {
    EXPECT_EQ(task.repetitions(), 2U);
    if (task.workload() == "disk.profile") {
      EXPECT_EQ(task.parameters().at("size").number(), 32 << 20);
    }
  }
}

TEST_F(ThreeHosts, SuitesAreRefusedWithTheirPlace) {
  const std::string file = fleet_->root() + "/bad.textproto";
  WriteFile(file, "name: \"bad\"\nversion: 1\nentries { workloat: \"host.clock\" }\n");
  const Finished typo = fleet_->Cli({"suites", "add", file});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.errors, HasSubstr("bad.textproto:3:"));
  EXPECT_EQ(LinesIn(typo.errors), 1U) << typo.errors;
  WriteFile(file, "name: \"bad\"\nversion: 1\nentries { workload: \"host.clok\" }\n");
  const Finished unknown = fleet_->Cli({"suites", "add", file});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, AllOf(HasSubstr("bad.textproto"), HasSubstr("host.clock")));
}

// C-148, also for errors, before and after the command.
TEST_F(ThreeHosts, C148JsonIsNothingButJson) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"hosts", "--json"},
           {"--json", "hosts"},
           {"--output", "json", "disks"},
           {"hosts", "show", "mac-pro", "--output=json"},
           {"workloads", "--json"},
           {"suites", "--json"},
           {"status", "--json"},
           {"runs", "--json"},
           {"compare", "mac-pro", "thinkpad", "--output", "json"},
           {"hosts", "show", "nobody", "--json"},
           {"compare", "nobody", "--json"},
           {"run", "nothing", "--all", "--json"},
           {"runs", "show", "999999", "--json"},
           {"--json", "frobnicate"},
           {"run", "host.clock", "--hosts", "mac-pro", "--json"},
       }) {
    const Finished finished = fleet_->Cli(words);
    EXPECT_TRUE(IsOneJsonDocument(finished.output)) << absl::StrJoin(words, " ") << "\n" << finished.output;
    if (finished.exit_code != 0) {
      EXPECT_THAT(finished.output, HasSubstr("\"error\""));
    }
  }
  for (const char* command : {"hosts", "disks", "workloads", "suites", "runs"}) {
    const Finished csv = fleet_->Cli({command, "--output", "csv"});
    EXPECT_EQ(csv.exit_code, 0);
    EXPECT_THAT(csv.output, AllOf(HasSubstr(","), Not(HasSubstr("\x1b"))));
    EXPECT_EQ(csv.errors, "");
  }
}

TEST_F(ThreeHosts, C149ExitCodesSayWhatHappened) {
  EXPECT_EQ(fleet_->Cli({"hosts"}).exit_code, 0);
  EXPECT_EQ(fleet_->Cli({"frobnicate"}).exit_code, 2);
  EXPECT_EQ(fleet_->Cli({"run", "host.clock"}).exit_code, 2);  // no host chosen
  EXPECT_EQ(fleet_->Cli({"run", "host.clock", "--all", "--frob"}).exit_code, 2);
  EXPECT_EQ(fleet_->Cli({"runs", "show", "x"}).exit_code, 2);
  EXPECT_EQ(fleet_->Cli({"hosts", "show", "nobody"}).exit_code, 4);
  EXPECT_EQ(fleet_->Cli({"runs", "show", "999999"}).exit_code, 4);
  EXPECT_EQ(fleet_->Cli({"--collector", "127.0.0.1:1", "hosts"}).exit_code, 3);
  const Finished wrong = fleet_->Cli({"hosts", "--frob"});
  EXPECT_EQ(wrong.output, "");
  EXPECT_NE(wrong.errors, "");
  EXPECT_EQ(fleet_->Cli({"--help"}).exit_code, 0);
}

// C-150: what `fleetmark ... | head -1` does.
TEST_F(ThreeHosts, C150AClosedPipeIsAQuietEnd) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"workloads", "--json"}, {"runs", "--json"}, {"compare", "mac-pro"}}) {
    const std::unique_ptr<Process> process = fleet_->CliStart(words);
    process->CloseOutput();
    const int code = process->WaitOrKill(absl::Minutes(1));
    EXPECT_TRUE(code == 0 || code == 141) << code;
    EXPECT_EQ(process->errors(), "");
  }
}

TEST_F(ThreeHosts, CtrlCCancelsTheRunOnEveryHostAndLeavesNothing) {
  const std::unique_ptr<Process> process =
      fleet_->CliStart({"run", "small", "--all", "--set", "size=64MiB", "--set", "seconds=60s"});
  const auto all_measure = [&] {
    return std::all_of(fleet_->hosts().begin(), fleet_->hosts().end(),
                       [](const auto& host) { return !host->Workers().empty() && !host->Scratch().empty(); });
  };
  const auto one_measures = [&] {
    return std::any_of(fleet_->hosts().begin(), fleet_->hosts().end(),
                       [](const auto& host) { return !host->Workers().empty() && !host->Scratch().empty(); });
  };
  // As one machine they take turns (C-104).
  ASSERT_TRUE(WaitUntil(fleet_->machines_refused().empty() ? std::function<bool()>(all_measure) : one_measures))
      << process->errors() << fleet_->Logs();
  process->Send(SIGINT);
  const absl::Time begin = absl::Now();
  const bool gone = WaitUntil([&] {
    return std::all_of(fleet_->hosts().begin(), fleet_->hosts().end(),
                       [](const auto& host) { return host->Workers().empty() && host->Scratch().empty(); });
  });
  const absl::Duration took = absl::Now() - begin;
  EXPECT_TRUE(gone);
  std::printf("workers gone and files removed %.2f s after Ctrl-C\n", absl::ToDoubleSeconds(took));
  EXPECT_EQ(process->WaitOrKill(absl::Minutes(1)), 130);
  EXPECT_THAT(process->errors(), HasSubstr("cancelling"));
  v1::Run run;
  ASSERT_TRUE(fleet_->CliJson({"runs", "show"}, run).ok());
  EXPECT_EQ(run.state(), v1::RUN_STATE_CANCELLED);
  for (const v1::Task& task : run.tasks()) EXPECT_EQ(task.state(), v1::TASK_STATE_CANCELLED) << task.reason();
}

TEST_F(ThreeHosts, ASecondCtrlCLeavesAtOnce) {
  const std::unique_ptr<Process> process =
      fleet_->CliStart({"run", "host.clock", "--hosts", "mac-pro", "--repeat", "1000"});
  ASSERT_TRUE(WaitUntil([&] { return !fleet_->host("mac-pro").Workers().empty(); })) << process->errors();
  // The collector cannot answer the cancel: the first Ctrl-C has to wait.
  kill(fleet_->collector().pid(), SIGSTOP);
  process->Send(SIGINT);
  EXPECT_TRUE(WaitUntil([&] { return process->errors().find("again leaves at once") != std::string::npos; }))
      << process->errors();
  EXPECT_TRUE(process->running());
  process->Send(SIGINT);
  const int code = process->WaitOrKill(absl::Seconds(20));
  kill(fleet_->collector().pid(), SIGCONT);
  EXPECT_EQ(code, 130);
  v1::Run run;
  ASSERT_TRUE(fleet_->CliJson({"runs", "show"}, run).ok());
  fleet_->Cli({"runs", "cancel", absl::StrCat(run.id())});
  EXPECT_EQ(fleet_->WaitForRun(run.id()).state(), v1::RUN_STATE_CANCELLED);
}

TEST_F(ThreeHosts, WatchingLeavesTheRunAloneAndCancelEndsIt) {
  const int64_t id = fleet_->StartRun({"host.clock", "--all", "--repeat", "1000"});
  const std::unique_ptr<Process> watch = fleet_->CliStart({"runs", "watch", absl::StrCat(id)});
  EXPECT_TRUE(WaitUntil([&] { return watch->errors().find("mac-pro") != std::string::npos; }));
  watch->Send(SIGINT);
  EXPECT_EQ(watch->WaitOrKill(absl::Seconds(30)), 130);
  EXPECT_THAT(watch->errors(), HasSubstr("goes on"));
  EXPECT_EQ(fleet_->Run(id).state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(fleet_->Cli({"runs", "cancel", absl::StrCat(id)}).exit_code, 0);
  EXPECT_EQ(fleet_->WaitForRun(id).state(), v1::RUN_STATE_CANCELLED);
  const Finished after = fleet_->Cli({"runs", "watch", absl::StrCat(id)});
  EXPECT_EQ(after.exit_code, 1);
}

// The last: it takes one of the three away.
TEST_F(ThreeHosts, ZRemovedHostsAreShutOut) {
  FleetHost& host = fleet_->host("macbook");
  const Finished removed = fleet_->Cli({"hosts", "remove", "macbook"});
  EXPECT_EQ(removed.exit_code, 0) << removed.errors;
  EXPECT_EQ(fleet_->Cli({"hosts", "show", "macbook"}).exit_code, 4);
  EXPECT_TRUE(WaitUntil([&] { return !host.LogLines("was removed from the fleet").empty(); })) << host.log();
  // Its results stay.
  EXPECT_THAT(fleet_->Cli({"runs", "show", "1"}).output, Not(IsEmpty()));
}

}  // namespace
}  // namespace fleetmark::test
