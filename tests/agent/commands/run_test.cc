// `fleetmark-agent run`: the function with test workloads, and the program itself.
#include "agent/commands/run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/platform/storage_stack.h"
#include "agent/worker/process_identity.h"
#include "tests/agent/executor/test_workloads.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

class RunHereTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::current_path().string() + "/fleetmark run ü XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    std::filesystem::create_directory(root_ + "/target");
    std::ofstream(root_ + "/agent.textproto") << "min_free_bytes: \"0\"\n";
    options_.config_path = root_ + "/agent.textproto";
    options_.state_directory = root_ + "/state";
    options_.output.mode = OutputMode::kCsv;
    options_.quiet_wait_seconds = 0;
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(root_ + "/target"));
    std::filesystem::remove_all(root_);
  }

  int Run(const std::string& workload) { return Run(std::vector<std::string>{workload}); }
  int Run(const std::vector<std::string>& workloads) {
    options_.workloads = workloads;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunHere(options_, stop_, TestWorkloads(), FLEETMARK_TEST_WORKER);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  struct Exited {
    int code = -1;
    std::string out;
    std::string err;
  };
  // The program itself, with its own table.
  Exited RunProgram(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fleetmark-agent");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const std::string out = root_ + "/out";
    const std::string err = root_ + "/err";
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, FLEETMARK_AGENT, &actions, nullptr, pointers.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), Read(out), Read(err)};
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }

  std::string root_;
  RunOptions options_;
  StopSignal stop_;
  std::string out_;
  std::string err_;
};

TEST_F(RunHereTest, PrintsWhatItMeasured) {
  options_.repeat = 5;
  EXPECT_EQ(Run("test.cpu"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("test.cpu,1,"));
  EXPECT_THAT(out_, HasSubstr(",5,1004,1002,1006,"));
  EXPECT_EQ(err_, "");
}

TEST_F(RunHereTest, TheTypedDirectoryIsTheTarget) {
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack(root_ + "/target");
  if (stack.ok() && stack->in_memory) GTEST_SKIP() << "the build tree is in memory";
  std::filesystem::create_directory_symlink(root_ + "/target", root_ + "/link");
  options_.target = root_ + "/link";  // whoever types a link means where it leads
  EXPECT_EQ(Run("test.disk"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("test.disk,1,"));
}

TEST_F(RunHereTest, BadInputIsOneLineAndTheCodeOfItsKind) {
  EXPECT_EQ(Run("test.disc"), kExitNothingMatched);
  EXPECT_EQ(err_, "fleetmark-agent: there is no workload \"test.disc\"; did you mean test.disk?\n");
  EXPECT_EQ(Run("test.disk"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--target"));
  options_.target = root_ + "/nowhere";
  EXPECT_EQ(Run("test.disk"), kExitNothingMatched);
  EXPECT_THAT(err_, HasSubstr("nowhere"));
  options_.target = root_ + "/agent.textproto";
  EXPECT_EQ(Run("test.disk"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("is not a directory; give a directory"));
  options_.target.clear();
  for (const char* setting : {"size=2GiB; rm -rf /", "sise=2GiB", "size", "=", "test.cpu.size=-1", "mode=exec"}) {
    options_.set = {setting};
    EXPECT_EQ(Run("test.cpu"), kExitUsage) << setting;
    EXPECT_THAT(err_, HasSubstr(std::string("--set ") + setting)) << setting;
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
    EXPECT_EQ(out_, "");
  }
}

TEST_F(RunHereTest, AFailedTaskIsExitCodeOneWithItsReason) {
  options_.output.mode = OutputMode::kTable;
  options_.set = {"mode=fail"};
  EXPECT_EQ(Run("test.cpu"), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("test.cpu@1 failed: read /dev/x: Input/output error"));
  EXPECT_EQ(err_, "fleetmark-agent: test.cpu failed: read /dev/x: Input/output error\n");
}

TEST_F(RunHereTest, JsonHoldsEverythingAndErrorsAreJsonToo) {
  options_.output.mode = OutputMode::kJson;
  EXPECT_EQ(Run("test.cpu"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("\"median\": 1003"));
  EXPECT_THAT(out_, HasSubstr("\"stop_reason\": \"asked\""));
  EXPECT_EQ(Run("test.disc"), kExitNothingMatched);
  EXPECT_THAT(out_, HasSubstr("\"exit_code\":4"));
}

// C-093
TEST_F(RunHereTest, CtrlCLeavesNothingBehind) {
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack(root_ + "/target");
  if (stack.ok() && stack->in_memory) GTEST_SKIP() << "the build tree is in memory";
  options_.target = root_ + "/target";
  options_.set = {"mode=wait"};
  std::thread person([this] {
    while (std::filesystem::is_empty(root_ + "/target")) std::this_thread::yield();
    stop_.Request();
  });
  EXPECT_EQ(Run("test.disk"), kExitInterrupted);
  person.join();
  EXPECT_EQ(err_, "fleetmark-agent: cancelled; nothing was left behind\n");
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/target"));
}

TEST_F(RunHereTest, CtrlCKeepsWhatWasMeasuredBefore) {
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack(root_ + "/target");
  if (stack.ok() && stack->in_memory) GTEST_SKIP() << "the build tree is in memory";
  options_.target = root_ + "/target";
  options_.set = {"test.disk.mode=wait"};
  std::thread person([this] {
    while (std::filesystem::is_empty(root_ + "/target")) std::this_thread::yield();
    stop_.Request();
  });
  EXPECT_EQ(Run(std::vector<std::string>{"test.cpu", "test.disk"}), kExitInterrupted);
  person.join();
  EXPECT_THAT(out_, HasSubstr("test.cpu,1,"));
  EXPECT_EQ(err_, "fleetmark-agent: cancelled; what was measured before is shown, nothing was left behind\n");
}

// What two values can be told to be wrong before anything is started.
TEST_F(RunHereTest, TheProgramRefusesWhatADiskWorkloadCannotDo) {
  for (const char* setting : {"disk.profile size=17MB", "disk.profile seconds=100ms", "disk.dd size=17MB"}) {
    const std::string text = setting;
    const size_t space = text.find(' ');
    const Exited run =
        RunProgram({"run", text.substr(0, space), "--target", root_ + "/target", "--set", text.substr(space + 1),
                    "--config", root_ + "/agent.textproto", "--state-dir", root_ + "/state"});
    EXPECT_EQ(run.code, kExitUsage) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST_F(RunHereTest, TheProgramMeasuresTheClock) {
  const Exited run = RunProgram({"run", "host.clock", "--config", root_ + "/agent.textproto", "--state-dir",
                                 root_ + "/state", "--output", "csv"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("host.clock,1,,cost,seconds"));
  EXPECT_EQ(run.err, "");
}

TEST_F(RunHereTest, TheProgramExplainsItself) {
  const Exited help = RunProgram({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"run", "inventory", "workloads"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const Exited sub = RunProgram({command, "--help"});
    EXPECT_EQ(sub.code, 0);
    EXPECT_THAT(sub.out, HasSubstr("Examples:"));
  }
  EXPECT_THAT(RunProgram({"--version"}).out, HasSubstr("fleetmark-agent "));
  const Exited unknown = RunProgram({"inventry"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'inventory'?"));
  EXPECT_EQ(unknown.out, "");
  for (const Exited& run : {unknown, RunProgram({}), RunProgram({"run"}), RunProgram({"run", "--frob"}),
                            RunProgram({"join"}), RunProgram({"run", "host.clock", "--repeat", "many"})}) {
    EXPECT_EQ(run.code, kExitUsage);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr("--help"));
  }
  EXPECT_THAT(RunProgram({"run", "--frob"}).err, HasSubstr("'--frob'"));
  EXPECT_EQ(RunProgram({"inventory", "--output", "xml"}).code, kExitUsage);
}

}  // namespace
}  // namespace fleetmark::agent
