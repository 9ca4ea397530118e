// C-097 on the real thing: a worker in uninterruptible sleep, which not even SIGKILL ends. A frozen file system on a
// loop device does that to whoever writes to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/agent/executor/harness.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

bool Shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

class StuckWorkerTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    ExecutorFixture::SetUp();
    mount_ = root_ + "/target";
    const std::string image = root_ + "/disk.img";
    if (::geteuid() != 0) {
      why_not_ = "needs root for a loop device";
    } else if (!Shell("truncate -s 64M '" + image + "' && mkfs.ext4 -q -F '" + image + "'")) {
      why_not_ = "no mkfs.ext4 here";
    } else if (!Shell("mount -o loop '" + image + "' '" + mount_ + "'")) {
      why_not_ = "loop devices may not be mounted here";
    } else {
      mounted_ = true;
      if (!Shell("fsfreeze -f '" + mount_ + "' && fsfreeze -u '" + mount_ + "'")) why_not_ = "no fsfreeze here";
      std::filesystem::remove(mount_ + "/lost+found");
    }
  }
  void TearDown() override {
    if (frozen_) Thaw();
    if (executor_ != nullptr) executor_->Shutdown(absl::Seconds(5));
    executor_.reset();
    SweepScratch(root_ + "/state");
    if (mounted_) {
      EXPECT_EQ(Entries(mount_), std::vector<std::string>{});
      EXPECT_TRUE(Shell("umount '" + mount_ + "'"));
    }
    ExecutorFixture::TearDown();
  }
  void Freeze() { frozen_ = Shell("fsfreeze -f '" + mount_ + "'"); }
  void Thaw() { frozen_ = !Shell("fsfreeze -u '" + mount_ + "'"); }

  std::string mount_;
  std::string why_not_;
  bool mounted_ = false;
  bool frozen_ = false;
};

TEST_F(StuckWorkerTest, TheAgentStaysResponsiveAndKeepsOffTheTarget) {
  if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  ASSERT_TRUE(executor_->Submit(Task(1, "test.disk", "write")).ok());
  listener_.WaitForMeasuring();
  const std::vector<pid_t> workers = Children();
  ASSERT_EQ(workers.size(), 1u);
  Freeze();
  ASSERT_TRUE(frozen_);
  while (ProcessState(workers[0]) != 'D') ::usleep(1000);

  executor_->Cancel(1, 1);
  const v1::TaskFinished stuck = listener_.WaitForEnd(1);
  EXPECT_THAT(stuck.reason(), HasSubstr("stuck(D)"));
  EXPECT_THAT(stuck.reason(), HasSubstr(std::to_string(workers[0])));

  ASSERT_TRUE(executor_->Submit(Task(2, "test.disk")).ok());
  EXPECT_THAT(listener_.WaitForEnd(2).reason(), HasSubstr("held by a worker that cannot be ended"));
  ASSERT_TRUE(executor_->Submit(Task(3, "test.cpu")).ok());
  EXPECT_EQ(listener_.WaitForEnd(3).outcome(), v1::TASK_OUTCOME_SUCCEEDED);

  Thaw();
  while (ProcessState(workers[0]) != 'Z' && ProcessState(workers[0]) != '\0') ::usleep(1000);
  ASSERT_TRUE(executor_->Submit(Task(4, "test.disk")).ok());
  EXPECT_EQ(listener_.WaitForEnd(4).outcome(), v1::TASK_OUTCOME_SUCCEEDED) << listener_.WaitForEnd(4).reason();
}

}  // namespace
}  // namespace fleetmark::agent
