#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <limits>

#include "agent/platform/bounded_call.h"
#include "tests/agent/executor/harness.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ValidateTaskTest : public ExecutorFixture {
 protected:
  absl::Status Validate(const v1::StartTask& task) const { return ValidateTask(config_, task, TestWorkloads()); }
  std::string Message(const v1::StartTask& task) const { return std::string(Validate(task).message()); }
  void SetTargetPath(const std::string& path) { config_.mutable_targets(0)->set_path(path); }
};

TEST_F(ValidateTaskTest, AcceptsWhatIsAllowed) {
  EXPECT_TRUE(Validate(Task(1, "test.cpu")).ok());
  if (!TargetIsOnDisk()) GTEST_SKIP() << "the build tree is in memory";
  EXPECT_TRUE(Validate(Task(1, "test.disk")).ok()) << Message(Task(1, "test.disk"));
}

TEST_F(ValidateTaskTest, NamesTheNearestWorkload) {
  EXPECT_EQ(Validate(Task(1, "test.disc")).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(Task(1, "test.disc")), HasSubstr("did you mean test.disk?"));
  v1::StartTask newer = Task(1, "test.cpu");
  newer.set_version(9);
  EXPECT_THAT(Message(newer), HasSubstr("not in version 9"));
}

TEST_F(ValidateTaskTest, OnlyNamedWorkloadsRun) {
  config_.add_workloads("memory.*");
  EXPECT_EQ(Validate(Task(1, "test.cpu")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(Task(1, "test.cpu")), HasSubstr("workloads: \"test.cpu\""));
  config_.add_workloads("test.*");
  EXPECT_TRUE(Validate(Task(1, "test.cpu")).ok());
}

// C-176: what cannot be a parameter is refused by type, range and name; nothing is ever interpreted.
TEST_F(ValidateTaskTest, RefusesParametersOfEveryWrongKind) {
  const auto with = [](const std::string& name, v1::ParameterValue value) {
    v1::StartTask task = Task(1, "test.cpu");
    (*task.mutable_parameters())[name] = std::move(value);
    return task;
  };
  const auto text = [](const std::string& value) {
    v1::ParameterValue parameter;
    parameter.set_text(value);
    return parameter;
  };
  const auto number = [](double value) {
    v1::ParameterValue parameter;
    parameter.set_number(value);
    return parameter;
  };
  EXPECT_FALSE(Validate(with("size", text("1G; rm -rf /"))).ok());
  EXPECT_FALSE(Validate(with("mode", text("exec"))).ok());
  EXPECT_FALSE(Validate(with("mode", text("a\nb"))).ok());
  EXPECT_THAT(Message(with("mode", text("a\nb"))), Not(HasSubstr("\n")));
  EXPECT_FALSE(Validate(with("--filename", text("/dev/sda"))).ok());
  EXPECT_FALSE(Validate(with("size", number(-1))).ok());
  EXPECT_FALSE(Validate(with("size", number(1e308))).ok());
  EXPECT_FALSE(Validate(with("size", number(0.5))).ok());
  EXPECT_FALSE(Validate(with("size", number(std::numeric_limits<double>::quiet_NaN()))).ok());
  EXPECT_FALSE(Validate(with("size", v1::ParameterValue())).ok());
  EXPECT_THAT(Message(with("sise", number(1))), HasSubstr("did you mean size?"));
}

// C-181: a peer cannot ask for more than this host allows; the message has the line that would.
TEST_F(ValidateTaskTest, KeepsTheCeilings) {
  config_.set_max_bytes("4MiB");
  config_.set_max_threads(2);
  config_.set_max_duration("10min");
  v1::StartTask task = Task(1, "test.disk");
  EXPECT_EQ(Validate(task).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(task), HasSubstr("max_bytes: \"8388608B\""));
  task = Task(1, "test.cpu");
  (*task.mutable_parameters())["threads"].set_number(1e6);
  EXPECT_THAT(Message(task), HasSubstr("max_threads: 1000000"));
  task = Task(1, "test.cpu");
  task.mutable_repetition_rule()->set_budget_seconds(315e6);
  task.mutable_repetition_rule()->set_least(1);
  EXPECT_THAT(Message(task), HasSubstr("max_duration: \"315000000s\""));
  task.mutable_repetition_rule()->Clear();
  task.mutable_repetition_rule()->set_exactly(1'000'000);
  EXPECT_THAT(Message(task), HasSubstr("between 1 and 1000"));
  task = Task(1, "test.cpu");
  task.set_quiet_wait_seconds(1e9);
  EXPECT_FALSE(Validate(task).ok());
}

TEST_F(ValidateTaskTest, ATargetMustBeNamed) {
  v1::StartTask task = Task(1, "test.disk");
  task.set_target("sdd");
  EXPECT_EQ(Validate(task).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(task), HasSubstr("targets { name: \"sdd\" path: "));
  EXPECT_THAT(Message(task), HasSubstr("did you mean \"ssd\"?"));
  task.set_target("../../etc");
  EXPECT_FALSE(Validate(task).ok());
}

TEST_F(ValidateTaskTest, ATargetMustBeADirectoryThatCanBeWritten) {
  const v1::StartTask task = Task(1, "test.disk");
  SetTargetPath(root_ + "/nowhere");
  EXPECT_EQ(Validate(task).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(task), HasSubstr("does not exist"));
  std::ofstream(root_ + "/file") << "x";
  SetTargetPath(root_ + "/file");
  EXPECT_THAT(Message(task), HasSubstr("not a directory"));
  // C-096: nor is a whole device one that could be written to.
  for (const char* device : {"/dev/null", "/dev/loop0", "/dev/sda", "/dev/vda", "/dev/nvme0n1"}) {
    if (!std::filesystem::exists(device)) continue;
    SetTargetPath(device);
    EXPECT_THAT(Message(task), HasSubstr("not a directory")) << device;
  }
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere; the rest needs an ordinary user";
  std::filesystem::create_directory(root_ + "/locked");
  std::filesystem::permissions(root_ + "/locked",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  SetTargetPath(root_ + "/locked");
  EXPECT_EQ(Validate(task).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(task), HasSubstr("not writable"));
}

// C-177: a link that leads elsewhere is not followed; the real directory is named for the configuration.
TEST_F(ValidateTaskTest, ATargetThroughALinkIsRefused) {
  std::filesystem::create_directory_symlink(root_ + "/target", root_ + "/link");
  SetTargetPath(root_ + "/link");
  EXPECT_EQ(Validate(Task(1, "test.disk")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(Task(1, "test.disk")), HasSubstr("symbolic link"));
  EXPECT_THAT(Message(Task(1, "test.disk")), HasSubstr(root_ + "/target"));
  SetTargetPath(root_ + "/target/../target");
  const absl::Status dotted = Validate(Task(1, "test.disk"));
  EXPECT_TRUE(dotted.ok() || absl::IsFailedPrecondition(dotted)) << dotted;
}

// C-067: the server of its file system is gone, and an earlier look has not come back.
TEST_F(ValidateTaskTest, ATargetThatDoesNotAnswerHoldsNobodyUp) {
  std::promise<void> server;
  const std::shared_future<void> answer = server.get_future().share();
  EXPECT_FALSE(RunBounded(config_.targets(0).path(), std::chrono::milliseconds(1), [answer] { answer.wait(); }));
  EXPECT_EQ(Validate(Task(1, "test.disk")).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(Task(1, "test.disk")), HasSubstr("did not answer"));
  EXPECT_TRUE(Validate(Task(1, "test.cpu")).ok());
  server.set_value();
  while (HangingCalls() > 0) ::usleep(1000);
  EXPECT_NE(Validate(Task(1, "test.disk")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ValidateTaskTest, ATargetInMemoryIsRefused) {
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack("/dev/shm");
  if (!stack.ok() || !stack->in_memory) GTEST_SKIP() << "/dev/shm is not in memory here";
  SetTargetPath("/dev/shm");
  EXPECT_EQ(Validate(Task(1, "test.disk")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(Task(1, "test.disk")), HasSubstr("is in memory (tmpfs)"));
}

}  // namespace
}  // namespace fleetmark::agent
