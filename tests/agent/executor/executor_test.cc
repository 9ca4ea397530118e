#include "agent/executor/executor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "agent/executor/host_lock.h"
#include "tests/agent/executor/harness.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

class ExecutorTest : public ExecutorFixture {};

pid_t WaitForWorker(const std::function<std::vector<pid_t>()>& children) {
  while (true) {
    const std::vector<pid_t> found = children();
    if (!found.empty()) return found.front();
  }
}

TEST_F(ExecutorTest, TurnsATaskIntoRecordsWithoutAGap) {
  ASSERT_TRUE(executor_->Submit(Task(7, "test.cpu")).ok());
  const v1::TaskFinished finished = listener_.WaitForEnd(7);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_SUCCEEDED) << finished.reason();
  EXPECT_EQ(finished.stop_reason(), "asked");
  EXPECT_EQ(finished.repetitions(), 3u);
  EXPECT_GE(finished.derived_parameters().at("threads").number(), 1);

  const std::vector<v1::Record> records = listener_.records();
  ASSERT_GE(records.size(), 2u);
  EXPECT_TRUE(records.front().has_started());
  EXPECT_TRUE(records.back().has_finished());
  int warmups = 0;
  std::vector<double> values;
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].id().task_id(), 7);
    EXPECT_EQ(records[i].id().sequence(), i + 1);
    if (!records[i].has_repetition()) continue;
    const v1::Repetition& repetition = records[i].repetition();
    if (repetition.warmup()) {
      ++warmups;
      continue;
    }
    ASSERT_EQ(repetition.measurements_size(), 1);
    EXPECT_EQ(repetition.measurements(0).unit(), v1::UNIT_BYTES_PER_SECOND);
    values.push_back(repetition.measurements(0).value());
  }
  EXPECT_EQ(warmups, 1);
  EXPECT_EQ(values, (std::vector<double>{1002, 1003, 1004}));
}

TEST_F(ExecutorTest, TheSameTaskTwiceRunsOnce) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu")).ok());
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu")).ok());
  listener_.WaitForEnd(1);
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu")).ok());
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu")).ok());
  listener_.WaitForEnd(2);
  int finished = 0;
  for (const v1::Record& record : listener_.records()) finished += record.has_finished() ? 1 : 0;
  EXPECT_EQ(finished, 2);
}

// C-043, C-012: what is not a number is absent, with its reason.
TEST_F(ExecutorTest, NothingThatIsNotANumberLeavesTheWorker) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "nan")).ok());
  EXPECT_EQ(listener_.WaitForEnd(1).outcome(), v1::TASK_OUTCOME_FAILED) << "nothing was measured";
  int seen = 0;
  for (const v1::Record& record : listener_.records()) {
    for (const v1::Measurement& measurement : record.repetition().measurements()) {
      ++seen;
      EXPECT_FALSE(measurement.has_value());
      EXPECT_FALSE(measurement.has_elapsed_seconds());
      EXPECT_THAT(measurement.missing_reason(), HasSubstr("not a finite number"));
    }
  }
  EXPECT_EQ(seen, 4);
}

TEST_F(ExecutorTest, FailuresAndSkipsKeepTheirReason) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "fail")).ok());
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu", "skip")).ok());
  EXPECT_EQ(listener_.WaitForEnd(1).outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(listener_.WaitForEnd(1).reason(), "read /dev/x: Input/output error");
  EXPECT_EQ(listener_.WaitForEnd(2).outcome(), v1::TASK_OUTCOME_SKIPPED);
  EXPECT_EQ(listener_.WaitForEnd(2).reason(), "no such device here");
}

TEST_F(ExecutorTest, AWorkerThatDiesEndsTheTaskAndNothingElse) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "crash")).ok());
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu", "exit")).ok());
  ASSERT_TRUE(executor_->Submit(Task(3, "test.cpu")).ok());
  const v1::TaskFinished crashed = listener_.WaitForEnd(1);
  EXPECT_EQ(crashed.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_NE(crashed.reason(), "");
  const v1::TaskFinished exited = listener_.WaitForEnd(2);
  EXPECT_EQ(exited.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(exited.worker_exit_code(), 7);
  EXPECT_THAT(exited.reason(), HasSubstr("the disk is on fire"));
  EXPECT_EQ(listener_.WaitForEnd(3).outcome(), v1::TASK_OUTCOME_SUCCEEDED);
}

// C-092 (the worker's half): the executor removes what a killed worker leaves, and only that.
TEST_F(ExecutorTest, RemovesTheScratchOfAKilledWorker) {
  if (!TargetIsOnDisk()) GTEST_SKIP() << "the build tree is in memory";
  std::ofstream(root_ + "/target/fleetmark-notes.bin") << "mine";
  ASSERT_TRUE(executor_->Submit(Task(1, "test.disk", "wait")).ok());
  listener_.WaitForMeasuring();
  EXPECT_EQ(Entries(root_ + "/target").size(), 2u);
  ::kill(WaitForWorker(Children), SIGKILL);
  const v1::TaskFinished finished = listener_.WaitForEnd(1);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(finished.worker_signal(), SIGKILL);
  EXPECT_EQ(Entries(root_ + "/target"), std::vector<std::string>{"fleetmark-notes.bin"});
  std::filesystem::remove(root_ + "/target/fleetmark-notes.bin");
}

// Nobody asked for that end: the collector tries the task again.
TEST_F(ExecutorTest, AWorkerThatASignalEndsIsInterruptedAndNotCancelled) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "wait")).ok());
  listener_.WaitForMeasuring();
  ::kill(WaitForWorker(Children), SIGTERM);
  const v1::TaskFinished finished = listener_.WaitForEnd(1);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_INTERRUPTED);
  EXPECT_THAT(finished.reason(), HasSubstr("signal"));
}

// C-093: a cancel stops the work, then cleans up, and is reported as what it is.
TEST_F(ExecutorTest, ACancelEndsTheWorkerWithinTwoSeconds) {
  if (!TargetIsOnDisk()) GTEST_SKIP() << "the build tree is in memory";
  for (const char* mode : {"wait", "deaf"}) {
    const int64_t id = static_cast<unsigned char>(mode[0]);
    ASSERT_TRUE(executor_->Submit(Task(id, "test.disk", mode)).ok());
    listener_.WaitForMeasuring();
    const auto begin = Clock::now();
    executor_->Cancel(id, 1);
    const v1::TaskFinished finished = listener_.WaitForEnd(id);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2)) << mode;
    EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_CANCELLED) << mode;
    EXPECT_EQ(Entries(root_ + "/target"), std::vector<std::string>{}) << mode;
    EXPECT_EQ(Children(), std::vector<pid_t>{}) << mode;
  }
}

TEST_F(ExecutorTest, ACancelledTaskInTheQueueNeverStarts) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "wait")).ok());
  listener_.WaitForMeasuring();
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu")).ok());
  executor_->Cancel(2, 1);
  executor_->Cancel(99, 1);
  executor_->Cancel(1, 1);
  EXPECT_EQ(listener_.WaitForEnd(1).outcome(), v1::TASK_OUTCOME_CANCELLED);
  EXPECT_EQ(listener_.WaitForEnd(2).outcome(), v1::TASK_OUTCOME_CANCELLED);
  for (const v1::Record& record : listener_.records()) {
    EXPECT_FALSE(record.id().task_id() == 2 && record.has_repetition());
  }
}

TEST_F(ExecutorTest, ShutdownInterruptsWhatRuns) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "deaf")).ok());
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu")).ok());
  listener_.WaitForMeasuring();
  EXPECT_EQ(executor_->Shutdown(absl::Seconds(5)), "");
  EXPECT_EQ(listener_.WaitForEnd(1).outcome(), v1::TASK_OUTCOME_INTERRUPTED);
  for (const v1::Record& record : listener_.records()) EXPECT_EQ(record.id().task_id(), 1);
  EXPECT_FALSE(executor_->Submit(Task(3, "test.cpu")).ok());
}

// C-097, with a stopped process in the place of one in uninterruptible sleep: the task ends, the agent answers.
TEST_F(ExecutorTest, AWorkerThatHangsIsEnded) {
  silence_limit_ = absl::Seconds(1);
  Reset();
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "stop")).ok());
  const v1::TaskFinished finished = listener_.WaitForEnd(1);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_THAT(finished.reason(), HasSubstr("hangs"));
  EXPECT_THAT(finished.reason(), HasSubstr("state T"));
  ASSERT_TRUE(executor_->Submit(Task(2, "test.cpu")).ok());
  EXPECT_EQ(listener_.WaitForEnd(2).outcome(), v1::TASK_OUTCOME_SUCCEEDED);
}

TEST_F(ExecutorTest, ATaskEndsAtTheHostsOwnLimit) {
  config_.set_max_duration("1s");
  Reset();
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "wait")).ok());
  const v1::TaskFinished finished = listener_.WaitForEnd(1);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_THAT(finished.reason(), HasSubstr("max_duration"));
}

TEST_F(ExecutorTest, AnErrorOfTheListenerEndsTheTask) {
  listener_.on_records = [count = 0](const v1::StartTask&) mutable {
    return ++count == 2 ? absl::ResourceExhaustedError("spool: no space left on device") : absl::OkStatus();
  };
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu")).ok());
  const v1::TaskFinished finished = listener_.WaitForEnd(1);
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(finished.reason(), "spool: no space left on device");
}

// C-099: if memory runs out, the worker goes and not the agent.
TEST_F(ExecutorTest, TheWorkerIsFirstForTheOomKiller) {
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "wait")).ok());
  listener_.WaitForMeasuring();
  const pid_t worker = WaitForWorker(Children);
  std::string score;
  std::ifstream("/proc/" + std::to_string(worker) + "/oom_score_adj") >> score;
  EXPECT_EQ(score, "1000");
  EXPECT_EQ(::getpgid(worker), worker);
  EXPECT_NE(::getpgrp(), worker);
  executor_->Cancel(1, 1);
  listener_.WaitForEnd(1);
}

// C-138: the worker gets its own descriptors, nothing else, and none of the agent's environment.
TEST_F(ExecutorTest, TheWorkerInheritsNothing) {
  const int stray = ::open("/dev/null", O_RDONLY);  // not close-on-exec, as a careless library's might be
  ::setenv("FLEETMARK_SECRET", "s3cret", 1);
  ASSERT_TRUE(executor_->Submit(Task(1, "test.cpu", "wait")).ok());
  listener_.WaitForMeasuring();
  const std::string process = "/proc/" + std::to_string(WaitForWorker(Children));
  std::set<std::string> allowed = {"0", "1", "2", "3", "4"};
  int others = 0;
  for (const std::string& fd : Entries(process + "/fd")) others += allowed.contains(fd) ? 0 : 1;
  EXPECT_LE(others, 2);  // the control thread's own pipe
  std::ifstream environment(process + "/environ");
  const std::string text((std::istreambuf_iterator<char>(environment)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  executor_->Cancel(1, 1);
  listener_.WaitForEnd(1);
  ::unsetenv("FLEETMARK_SECRET");
  ::close(stray);
}

TEST_F(ExecutorTest, AHundredTasksInARowLeaveNothing) {
  const size_t descriptors = Entries("/proc/self/fd").size();
  constexpr size_t kOfOneTask = 8;
  for (int64_t id = 1; id <= 100; ++id) ASSERT_TRUE(executor_->Submit(Task(id, "test.cpu")).ok());
  for (int64_t id = 1; id <= 100; ++id) {
    ASSERT_EQ(listener_.WaitForEnd(id).outcome(), v1::TASK_OUTCOME_SUCCEEDED) << listener_.WaitForEnd(id).reason();
  }
  EXPECT_LE(Entries("/proc/self/fd").size(), descriptors + kOfOneTask);
}

// C-104: two agents on one machine take turns with the disk.
TEST_F(ExecutorTest, WaitsForAnotherAgentOnThisMachine) {
  if (!TargetIsOnDisk()) GTEST_SKIP() << "the build tree is in memory";
  HostLock other(root_ + "/state");
  ASSERT_TRUE(other.TryAcquire());
  ASSERT_TRUE(executor_->Submit(Task(1, "test.disk")).ok());
  listener_.WaitForProgress();
  EXPECT_EQ(listener_.progress().front().phase(), v1::PHASE_WAITING);
  EXPECT_THAT(listener_.progress().front().step(), HasSubstr("another agent"));
  EXPECT_TRUE(Children().empty());
  other.Release();
  EXPECT_EQ(listener_.WaitForEnd(1).outcome(), v1::TASK_OUTCOME_SUCCEEDED);
}

}  // namespace
}  // namespace fleetmark::agent
