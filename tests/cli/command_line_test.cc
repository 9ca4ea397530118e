#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/commands/command.h"
#include "tests/cli/fake_fleet_client.h"

namespace fleetmark::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class CommandLineTest : public testing::Test {
 protected:
  struct Result {
    int code;
    std::string out, err;
  };

  // `change` prepares the fake; its copy after the command is in `client`.
  Result Run(std::vector<std::string> words) {
    words.insert(words.begin(), "fleetmark");
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunCommandLine(static_cast<int>(argv.size()), argv.data(), stop, [this](const SharedOptions&) {
      return absl::StatusOr<std::unique_ptr<FleetClient>>(std::make_unique<Forwarder>(client));
    });
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  // The context owns its client; the test keeps the fake.
  class Forwarder : public FleetClient {
   public:
    explicit Forwarder(FakeFleetClient& to) : to_(to) {}
#define FM_FORWARD(Name) \
  absl::Status Call(const v1::Name##Request& q, v1::Name##Response& a) override { return to_.Call(q, a); }
    FM_FORWARD(GetStatus)
    FM_FORWARD(ListHosts)
    FM_FORWARD(GetHost)
    FM_FORWARD(LabelHost)
    FM_FORWARD(RenameHost)
    FM_FORWARD(RemoveHost)
    FM_FORWARD(CreateInvite)
    FM_FORWARD(ListWorkloads)
    FM_FORWARD(ListSuites)
    FM_FORWARD(AddSuite)
    FM_FORWARD(CreateRun)
    FM_FORWARD(ListRuns)
    FM_FORWARD(GetRun)
    FM_FORWARD(CancelRun)
    FM_FORWARD(Compare)
#undef FM_FORWARD
    absl::Status WatchRun(const v1::WatchRunRequest& q, const StopSignal& s,
                          const std::function<void(const v1::WatchRunResponse*)>& f) override {
      return to_.WatchRun(q, s, f);
    }

   private:
    FakeFleetClient& to_;
  };

  static v1::WatchRunResponse Frame(v1::RunState state, v1::TaskState task_state) {
    v1::WatchRunResponse frame;
    v1::Run& run = *frame.mutable_run();
    run.set_id(12);
    run.set_suite("quick");
    run.set_state(state);
    v1::Task& task = *run.add_tasks();
    task.set_id(1);
    task.set_host("mac-pro");
    task.set_host_id("id-1");
    task.set_host_connected(true);
    task.set_workload("disk.profile");
    task.set_version(1);
    task.set_target("ssd");
    task.set_state(task_state);
    return frame;
  }

  static bool IsOneJsonDocument(const std::string& text) {
    google::protobuf::Struct document;
    return !text.empty() && google::protobuf::util::JsonStringToMessage(text, &document).ok();
  }

  StopSignal stop;
  FakeFleetClient client;
};

TEST_F(CommandLineTest, EveryCommandHasHelpWithExamples) {
  for (const Command& command : CommandTable()) {
    std::vector<std::string> words;
    const std::string name = command.name;
    words.push_back(name.substr(0, name.find(' ')));
    if (name.find(' ') != std::string::npos) words.push_back(name.substr(name.find(' ') + 1));
    words.push_back("--help");
    const Result result = Run(words);
    EXPECT_EQ(result.code, 0) << name;
    EXPECT_THAT(result.out, HasSubstr("Examples:")) << name;
    for (const char* option : {"--output", "--json", "--units", "--collector"}) {
      EXPECT_THAT(result.out, HasSubstr(option)) << name;
    }
    EXPECT_THAT(result.err, IsEmpty()) << name;
  }
}

// C-149: usage is 2, on stderr, and never 0.
TEST_F(CommandLineTest, UsageErrorsGoToStderrWithTheirCode) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"hots"},
                                                {"run", "--no-such-option"},
                                                {"run"},
                                                {"run", "--all", "--repeat", "0"},
                                                {"runs", "show", "x"},
                                                {"compare"},
                                                {"hosts", "--output", "xml"},
                                                {"hosts", "label", "a", "b"},
                                                {"run", "--all", "--set", "size"},
                                                {"hosts", "invite", "--valid", "10"}}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, kExitUsage) << testing::PrintToString(words);
    EXPECT_THAT(result.out, IsEmpty()) << testing::PrintToString(words);
    EXPECT_THAT(result.err, StartsWith("fleetmark: ")) << testing::PrintToString(words);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

// C-065: protobuf would send nothing, and nobody could say why.
TEST_F(CommandLineTest, C065AWordThatIsNotUtf8IsNamed) {
  const Result result = Run({"hosts", "rename", "a", "caf\xe9"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("caf\xef\xbf\xbd' is not UTF-8"));
}

TEST_F(CommandLineTest, AnUnknownCommandIsNamedWithTheNearest) {
  EXPECT_THAT(Run({"compair"}).err, HasSubstr("did you mean 'compare'?"));
  EXPECT_EQ(Run({"hosts", "renme"}).err,
            "fleetmark: there is no command 'hosts renme'; did you mean 'hosts rename'? See: fleetmark hosts --help\n");
}

// C-149
TEST_F(CommandLineTest, ErrorsOfTheCollectorHaveTheCodeOfTheirKind) {
  const std::pair<absl::Status, int> kinds[] = {
      {absl::NotFoundError("no host 'a'"), kExitNothingMatched},
      {absl::UnavailableError("collector 127.0.0.1:1 is not reachable"), kExitUnreachable},
      {absl::DeadlineExceededError("did not answer"), kExitUnreachable},
      {absl::InvalidArgumentError("size: 3 is below"), kExitUsage},
      {absl::PermissionDeniedError("a viewer may not"), kExitFailed},
      {absl::InternalError("bug"), kExitFailed},
  };
  for (const auto& [status, code] : kinds) {
    client.failures["GetHostRequest"] = status;
    const Result result = Run({"hosts", "show", "a"});
    EXPECT_EQ(result.code, code) << status;
    EXPECT_EQ(result.err, "fleetmark: " + std::string(status.message()) + "\n");
    EXPECT_THAT(result.out, IsEmpty());
  }
}

// C-148: stdout is one JSON document, wherever --output stands, with warnings, and for errors too.
TEST_F(CommandLineTest, JsonModeIsPureJson) {
  client.hosts.add_hosts()->set_name("mac-pro");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"hosts", "--output", "json"},
                                                {"--output", "json", "hosts"},
                                                {"hosts", "--json"},
                                                {"--json", "hosts"},
                                                {"hosts", "--output=json"}}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(IsOneJsonDocument(result.out)) << result.out;
  }
  client.failures["ListHostsRequest"] = absl::UnavailableError("not reachable");
  const Result failed = Run({"hosts", "--json"});
  EXPECT_EQ(failed.code, kExitUnreachable);
  EXPECT_TRUE(IsOneJsonDocument(failed.out)) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("\"error\""));
  const Result usage = Run({"hots", "--json"});
  EXPECT_EQ(usage.code, kExitUsage);
  EXPECT_TRUE(IsOneJsonDocument(usage.out)) << usage.out;
}

TEST_F(CommandLineTest, RunSendsWhatWasTyped) {
  client.created.mutable_run()->set_id(12);
  const Result result =
      Run({"run", "quick", "--hosts", "mac-pro,thinkpad", "--target", "ssd", "--target", "thinkpad=data", "--set",
           "disk.profile.size=2GiB", "--repeat", "5", "--serial", "--name", "attic", "--give-up", "2h", "--detach"});
  EXPECT_EQ(result.code, 0) << result.err;
  const v1::CreateRunRequest& sent = client.last_create;
  EXPECT_EQ(sent.suite(), "quick");
  ASSERT_EQ(sent.hosts_size(), 2);
  EXPECT_EQ(sent.hosts(1), "thinkpad");
  ASSERT_EQ(sent.targets_size(), 2);
  EXPECT_EQ(sent.targets(0).host(), "");
  EXPECT_EQ(sent.targets(1).host(), "thinkpad");
  EXPECT_EQ(sent.targets(1).target(), "data");
  EXPECT_EQ(sent.parameters().at("disk.profile.size"), "2GiB");
  EXPECT_EQ(sent.repeat(), 5u);
  EXPECT_TRUE(sent.serial());
  EXPECT_EQ(sent.name(), "attic");
  EXPECT_EQ(sent.give_up_seconds(), 7200);
  EXPECT_THAT(result.out, HasSubstr("12"));
}

// C-151: no control characters where nobody looks at a terminal.
TEST_F(CommandLineTest, RunFollowsToTheEndAndPrintsResults) {
  client.created.mutable_run()->set_id(12);
  client.watches = {
      {{Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_RUNNING), Frame(v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED)},
       absl::OkStatus(),
       nullptr}};
  client.comparison.add_columns()->set_host("mac-pro");
  v1::ComparisonRow& row = *client.comparison.add_rows();
  row.set_workload("disk.profile");
  row.set_version(1);
  row.set_metric("seq1m_q8t1.read.bandwidth");
  row.set_unit(v1::UNIT_BYTES_PER_SECOND);
  row.add_cells()->set_median(5e8);
  const Result result = Run({"run", "quick", "--all"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("500.0 MB/s"));
  EXPECT_THAT(result.err, HasSubstr("mac-pro: 0%, disk.profile on ssd"));
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, Not(HasSubstr("\r")));
  EXPECT_EQ(client.last_compare.run_ids(0), 12);
}

// C-163: which disk is measured is said before it is touched.
TEST_F(CommandLineTest, RunSaysItsTargetsFirst) {
  *client.created.mutable_run() = Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_QUEUED).run();
  client.watches = {{{Frame(v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED)}, absl::OkStatus(), nullptr}};
  EXPECT_EQ(Run({"run", "--all"}).err.find("run 12: mac-pro (ssd)\n"), 0u);
}

TEST_F(CommandLineTest, APartialRunIsCodeOneAndShowsWhatIsMissing) {
  client.created.mutable_run()->set_id(12);
  v1::WatchRunResponse last = Frame(v1::RUN_STATE_PARTIAL, v1::TASK_STATE_FAILED);
  last.mutable_run()->mutable_tasks(0)->set_reason("write /mnt/ssd/f: no space left on device");
  client.watches = {{{last}, absl::OkStatus(), nullptr}};
  client.failures["CompareRequest"] = absl::NotFoundError("no results");
  const Result result = Run({"run", "--all"});
  EXPECT_EQ(result.code, kExitFailed);
  EXPECT_THAT(result.out, HasSubstr("no space left on device"));
  EXPECT_THAT(result.err,
              HasSubstr("fleetmark: mac-pro: disk.profile on ssd failed: write /mnt/ssd/f: no space left on "
                        "device\n"));
}

// C-093: the first Ctrl-C cancels the run and waits for it.
TEST_F(CommandLineTest, CtrlCCancelsTheRun) {
  client.created.mutable_run()->set_id(12);
  client.watches = {
      {{Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_RUNNING)}, absl::OkStatus(), [this] { stop.Request(); }},
      {{Frame(v1::RUN_STATE_CANCELLED, v1::TASK_STATE_CANCELLED)}, absl::OkStatus(), nullptr}};
  client.failures["CompareRequest"] = absl::NotFoundError("no results");
  const Result result = Run({"run", "--all"});
  EXPECT_EQ(result.code, kExitInterrupted);
  EXPECT_THAT(client.cancelled, testing::ElementsAre(12));
  EXPECT_THAT(result.err, HasSubstr("cancelling run 12"));
}

TEST_F(CommandLineTest, ACancelThatIsUnderWayIsSaid) {
  client.run = Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_RUNNING).run();
  const Result result = Run({"runs", "cancel", "12"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("run 12 is being cancelled"));
  client.run.set_state(v1::RUN_STATE_CANCELLED);
  EXPECT_THAT(Run({"runs", "cancel", "12"}).err, IsEmpty());
}

TEST_F(CommandLineTest, CtrlCOfAWatchLeavesTheRunAlone) {
  client.run.set_id(12);
  client.watches = {
      {{Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_RUNNING)}, absl::OkStatus(), [this] { stop.Request(); }}};
  const Result result = Run({"runs", "watch", "12"});
  EXPECT_EQ(result.code, kExitInterrupted);
  EXPECT_THAT(client.cancelled, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("run 12 goes on"));
}

TEST_F(CommandLineTest, ALostCollectorIsWaitedFor) {
  client.created.mutable_run()->set_id(12);
  client.watches = {{{Frame(v1::RUN_STATE_RUNNING, v1::TASK_STATE_RUNNING)}, absl::UnavailableError("gone"), nullptr},
                    {{Frame(v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED)}, absl::OkStatus(), nullptr}};
  const Result result = Run({"run", "--all"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("lost the collector"));
}

TEST_F(CommandLineTest, ADirectoryIsNoSuite) {
  const Result result = Run({"suites", "add", "/"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err, "fleetmark: / is a directory; name one suite file in it\n");
}

TEST_F(CommandLineTest, LabelsAreSetAndRemoved) {
  EXPECT_EQ(Run({"hosts", "label", "mac-pro", "room=attic", "slot-"}).code, 0);
  EXPECT_EQ(client.last_label.set().at("room"), "attic");
  ASSERT_EQ(client.last_label.remove_size(), 1);
  EXPECT_EQ(client.last_label.remove(0), "slot");
}

TEST_F(CommandLineTest, CompareTakesHostsAndRuns) {
  EXPECT_EQ(Run({"compare", "mac-pro", "thinkpad"}).code, 0);
  EXPECT_EQ(client.last_compare.hosts_size(), 2);
  EXPECT_EQ(Run({"compare", "run:12", "run:15"}).code, 0);
  ASSERT_EQ(client.last_compare.run_ids_size(), 2);
  EXPECT_EQ(client.last_compare.run_ids(1), 15);
  EXPECT_EQ(Run({"compare", "--run", "12"}).code, 0);
  EXPECT_EQ(client.last_compare.run_ids(0), 12);
}

// C-182: a name cannot forge a line or colour a terminal.
TEST_F(CommandLineTest, ControlCharactersAreEscaped) {
  client.hosts.add_hosts()->set_name("evil\n\x1b[31mhost");
  client.failures["GetHostRequest"] = absl::NotFoundError("no host 'a\n\x1b[2J'");
  EXPECT_THAT(Run({"hosts"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Run({"hosts", "show", "x"}).err, Not(HasSubstr("\x1b")));
}

TEST_F(CommandLineTest, InviteLineOnlyPrintsNothingElse) {
  client.invite.set_join_line("fm1:x");
  client.invite.set_command("fleetmark-agent join fm1:x");
  EXPECT_EQ(Run({"hosts", "invite", "--line-only"}).out, "fm1:x\n");
  EXPECT_EQ(Run({"hosts", "invite"}).out, "fleetmark-agent join fm1:x\n");
}

}  // namespace
}  // namespace fleetmark::cli
