// The agent as a process: `fleetmark-agent start` with a real executor and worker, against a scripted collector.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/agent/connection/scripted_collector.h"
#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using Side = ScriptedCollector::Side;

constexpr char kHostId[] = "22222222-2222-4222-8222-222222222222";

// One `fleetmark-agent start`; its log goes into a file.
class AgentProcess {
 public:
  AgentProcess(const std::string& directory, const std::string& log) : log_(log) {
    const std::string program = std::string(std::getenv("FLEETMARK_BIN_DIR")) + "/fleetmark-agent";
    const std::string config = directory + "/agent.textproto";
    const std::string state = directory + "/state";
    const char* argv[] = {program.c_str(), "start", "--config", config.c_str(), "--state-dir", state.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, const_cast<char**>(argv), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~AgentProcess() {
    if (pid_ > 0) Kill(SIGKILL);
  }

  pid_t pid() const { return pid_; }

  // Sends the signal and waits; the exit code, or minus the signal that ended it.
  int Kill(int signal) {
    ::kill(pid_, signal);
    return Wait();
  }
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string Log() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  const std::string log_;
  pid_t pid_ = -1;
};

class AgentDaemonTest : public SpoolFixture {
 protected:
  AgentDaemonTest() {
    std::filesystem::create_directories(directory_ + "/state/identity");
    WriteIdentity(directory_ + "/state/identity", fleet_.Host(kHostId));
  }

  void WriteConfig(const std::string& collector) {
    std::ofstream(directory_ + "/agent.textproto") << "collectors: \"" << collector << "\"\n";
  }

  std::unique_ptr<AgentProcess> StartAgent() {
    return std::make_unique<AgentProcess>(directory_, directory_ + "/log" + std::to_string(++starts_));
  }

  // A collector that is normal, and sends these messages after its welcome in the first connections.
  std::unique_ptr<ScriptedCollector> CollectorThatSends(const std::vector<v1::CollectorMessage>& messages) {
    auto collector = std::make_unique<ScriptedCollector>(fleet_.Collector(), [messages](Side& side) {
      return side.number == 1 ? side.ServeNormally(10, messages) : side.ServeNormally();
    });
    WriteConfig(collector->address());
    return collector;
  }

  // host.clock takes 50 ms a repetition.
  static v1::CollectorMessage Start(int64_t id, uint32_t repetitions = 1, const std::string& workload = "host.clock") {
    v1::CollectorMessage message;
    v1::StartTask& task = *message.mutable_start();
    task.set_task_id(id);
    task.set_attempt(1);
    task.set_workload(workload);
    task.set_version(1);
    task.set_quiet_wait_seconds(0);
    task.mutable_repetition_rule()->set_exactly(repetitions);
    return message;
  }

  static v1::TaskFinished EndOf(ScriptedCollector& collector, int64_t task) {
    const auto sequences = collector.Committed(task);
    return sequences.empty() ? v1::TaskFinished() : collector.CommittedRecord(task, sequences.back()).finished();
  }
  static bool HasEnded(ScriptedCollector& collector, int64_t task) {
    const auto sequences = collector.Committed(task);
    return !sequences.empty() && collector.CommittedRecord(task, sequences.back()).has_finished();
  }

  // What the last hello said of a task.
  static v1::UnfinishedTask Reported(ScriptedCollector& collector, int64_t task) {
    v1::UnfinishedTask found;
    for (const v1::AgentMessage& message : collector.Received()) {
      for (const v1::UnfinishedTask& unfinished : message.hello().unfinished()) {
        if (unfinished.task_id() == task) found = unfinished;
      }
    }
    return found;
  }

  TestFleet fleet_;
  int starts_ = 0;
};

TEST_F(AgentDaemonTest, RunsATaskToItsEndAndStopsCleanly) {
  auto collector = CollectorThatSends({Start(1, 3)});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return HasEnded(*collector, 1); })) << agent->Log();
  EXPECT_EQ(EndOf(*collector, 1).outcome(), v1::TASK_OUTCOME_SUCCEEDED) << EndOf(*collector, 1).reason();
  EXPECT_EQ(EndOf(*collector, 1).repetitions(), 3u);
  EXPECT_TRUE(collector->CommittedRecord(1, 1).has_started());
  EXPECT_EQ(collector->CountReceived(v1::AgentMessage::kAccepted), 1);
  const v1::Hello hello = collector->Received()[0].hello();
  EXPECT_EQ(hello.host_id(), kHostId);
  EXPECT_GT(hello.workloads_size(), 0);
  EXPECT_NE(hello.boot_id(), "");
  EXPECT_NE(hello.session_id(), "");
  EXPECT_TRUE(hello.has_inventory());
  EXPECT_EQ(agent->Kill(SIGTERM), 0) << agent->Log();
  EXPECT_THAT(agent->Log(), HasSubstr("task 1 succeeded"));
  EXPECT_THAT(*SqliteSpool({.path = directory_ + "/state/spool.db"}).Tasks(), ::testing::IsEmpty());
}

TEST_F(AgentDaemonTest, TasksRunInOrderAndTheQueueIsAcceptedBetweenRepetitions) {
  auto collector = CollectorThatSends({Start(1, 5), Start(2), Start(3)});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return HasEnded(*collector, 3); })) << agent->Log();
  EXPECT_TRUE(HasEnded(*collector, 1));
  EXPECT_TRUE(HasEnded(*collector, 2));
  EXPECT_EQ(collector->CountReceived(v1::AgentMessage::kAccepted), 3);
}

TEST_F(AgentDaemonTest, RefusesWhatItDoesNotKnowWithAReason) {
  auto collector = CollectorThatSends({Start(1, 1, "disk.nonsense")});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return collector->CountReceived(v1::AgentMessage::kRefused) == 1; }));
  EXPECT_THAT(collector->Received().back().refused().reason(), HasSubstr("disk.nonsense"));
}

TEST_F(AgentDaemonTest, CancelEndsARunningTask) {
  v1::CollectorMessage cancel;
  cancel.mutable_cancel()->set_task_id(1);
  cancel.mutable_cancel()->set_attempt(1);
  std::atomic<bool> send{false};
  ScriptedCollector collector(fleet_.Collector(), [&](Side& side) {
    return side.ServeNormally(10, {Start(1, 1000)}, [&](const v1::AgentMessage& message) {
      // Once a repetition is there, the task surely runs.
      if (message.has_records() && message.records().records(0).id().sequence() > 1 && !send.exchange(true)) {
        side.Write(cancel);
      }
    });
  });
  WriteConfig(collector.address());
  auto agent = StartAgent();
  ASSERT_TRUE(collector.WaitFor([&] { return HasEnded(collector, 1); })) << agent->Log();
  EXPECT_EQ(EndOf(collector, 1).outcome(), v1::TASK_OUTCOME_CANCELLED);
}

// C-093: a host that is removed while it measures does not go on for nobody.
TEST_F(AgentDaemonTest, RemovedHostCancelsWhatItMeasures) {
  v1::CollectorMessage removed;
  removed.mutable_refusal()->set_reason(v1::REFUSAL_REASON_REMOVED);
  removed.mutable_refusal()->set_message("this host was removed from the fleet");
  std::atomic<bool> send{false};
  ScriptedCollector collector(fleet_.Collector(), [&](Side& side) {
    return side.ServeNormally(10, {Start(1, 1000), Start(2, 1000)}, [&](const v1::AgentMessage& message) {
      if (message.has_records() && message.records().records(0).id().sequence() > 1 && !send.exchange(true)) {
        side.Write(removed);
      }
    });
  });
  WriteConfig(collector.address());
  auto agent = StartAgent();
  EXPECT_TRUE(collector.WaitFor([&] {
    const std::string log = agent->Log();
    return log.find("task 1 cancelled") != std::string::npos && log.find("task 2 cancelled") != std::string::npos;
  })) << agent->Log();
  EXPECT_EQ(agent->Kill(SIGTERM), 0) << agent->Log();
}

// The agent is killed in the middle; the next start reports it and goes on with the rest. C-106
TEST_F(AgentDaemonTest, KilledAgentReportsTheTaskAsInterruptedAndKeepsItsRecords) {
  auto collector = CollectorThatSends({Start(1, 1000), Start(2)});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() >= 4; })) << agent->Log();
  const pid_t first = agent->pid();
  EXPECT_EQ(agent->Kill(SIGKILL), -SIGKILL);

  agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return HasEnded(*collector, 2); })) << agent->Log();
  EXPECT_EQ(Reported(*collector, 1).state(), v1::UNFINISHED_STATE_INTERRUPTED);
  const uint64_t recovered = Reported(*collector, 1).highest_sequence();
  EXPECT_GE(recovered, 4u);
  // What had been spooled and not sent arrives; nothing is missing in between.
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == recovered; }));
  EXPECT_FALSE(HasEnded(*collector, 1)) << "the collector closes an interrupted attempt itself";
  EXPECT_EQ(EndOf(*collector, 2).outcome(), v1::TASK_OUTCOME_SUCCEEDED);
  EXPECT_THAT(agent->Log(), HasSubstr("interrupted, recovered up to sequence " + std::to_string(recovered)));
  EXPECT_THAT(agent->Log(), HasSubstr("pid " + std::to_string(agent->pid())));
  EXPECT_NE(agent->pid(), first);
}

TEST_F(AgentDaemonTest, StoppedAgentReportsTheTaskAsInterruptedBeforeItGoes) {
  auto collector = CollectorThatSends({Start(1, 1000), Start(2)});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() >= 3; })) << agent->Log();
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(agent->Kill(SIGTERM), 0) << agent->Log();
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(20)) << agent->Log();
  ASSERT_TRUE(HasEnded(*collector, 1)) << "drained before the stream ended: " << agent->Log();
  EXPECT_EQ(EndOf(*collector, 1).outcome(), v1::TASK_OUTCOME_INTERRUPTED);
  // What was only queued is not lost either.
  agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return HasEnded(*collector, 2); })) << agent->Log();
  EXPECT_EQ(EndOf(*collector, 2).outcome(), v1::TASK_OUTCOME_SUCCEEDED);
}

// C-101, C-103: the collector goes away in the middle; the task ends by itself and its results are delivered later.
TEST_F(AgentDaemonTest, TaskEndsWithoutACollectorAndItsResultsAreDeliveredLater) {
  auto first = CollectorThatSends({Start(1, 20)});
  const int port = first->port();
  auto agent = StartAgent();
  ASSERT_TRUE(first->WaitFor([&] { return first->Committed(1).size() >= 2; })) << agent->Log();
  first->Stop();
  ASSERT_TRUE(first->WaitFor([&] { return agent->Log().find("task 1 succeeded") != std::string::npos; }));
  ScriptedCollector second(
      fleet_.Collector(), [](Side& side) { return side.ServeNormally(10, {Start(2)}); }, 8 << 20, port);
  ASSERT_TRUE(second.WaitFor([&] { return HasEnded(second, 1) && HasEnded(second, 2); })) << agent->Log();
  EXPECT_EQ(Reported(second, 1).state(), v1::UNFINISHED_STATE_FINISHED);
  std::set<uint64_t> all;
  for (const uint64_t sequence : first->Committed(1)) all.insert(sequence);
  for (const uint64_t sequence : second.Committed(1)) all.insert(sequence);
  EXPECT_EQ(all.size(), *all.rbegin()) << "no gap";
}

// C-104
TEST_F(AgentDaemonTest, SecondAgentOnTheSameStateExitsAndNamesTheFirst) {
  auto collector = CollectorThatSends({});
  auto agent = StartAgent();
  ASSERT_TRUE(collector->WaitFor([&] { return collector->connections() == 1; })) << agent->Log();
  auto second = StartAgent();
  EXPECT_EQ(second->Wait(), 1);
  EXPECT_THAT(second->Log(), HasSubstr("process " + std::to_string(agent->pid())));
  EXPECT_EQ(agent->Kill(SIGTERM), 0) << agent->Log();
}

TEST_F(AgentDaemonTest, WithoutAnIdentityOrConfigurationItSaysWhatToDo) {
  auto agent = StartAgent();
  EXPECT_EQ(agent->Wait(), 1);
  EXPECT_THAT(agent->Log(), HasSubstr("fleetmark hosts invite"));
  WriteConfig("127.0.0.1:1");
  std::filesystem::remove_all(directory_ + "/state/identity");
  agent = StartAgent();
  EXPECT_EQ(agent->Wait(), 1);
  EXPECT_THAT(agent->Log(), HasSubstr("has joined no fleet"));
}

// C-095: it stays connected, says why it takes nothing, and takes tasks again when it can.
TEST_F(AgentDaemonTest, ReadOnlyStateDirectoryRefusesTasksAndStaysConnected) {
  const std::string state = directory_ + "/state";
  if (::mount("tmpfs", state.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
  }
  std::filesystem::create_directories(state + "/identity");
  WriteIdentity(state + "/identity", fleet_.Host(kHostId));
  ASSERT_EQ(::mount("tmpfs", state.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  ScriptedCollector collector(fleet_.Collector(), [](Side& side) { return side.ServeNormally(1, {Start(1)}); });
  WriteConfig(collector.address());
  auto agent = StartAgent();
  EXPECT_TRUE(collector.WaitFor([&] { return collector.CountReceived(v1::AgentMessage::kRefused) == 1; }))
      << agent->Log();
  EXPECT_THAT(collector.Received()[0].hello().status().refuses_tasks_because(), HasSubstr("spool.db"));
  EXPECT_TRUE(collector.Received()[1].refused().temporary());
  ASSERT_EQ(::mount("tmpfs", state.c_str(), "tmpfs", MS_REMOUNT, ""), 0);
  // It says hello anew, and the task that is offered again runs.
  EXPECT_TRUE(collector.WaitFor([&] { return HasEnded(collector, 1); })) << agent->Log();
  EXPECT_GE(collector.connections(), 2);
  EXPECT_EQ(agent->Kill(SIGTERM), 0) << agent->Log();
  ::umount2(state.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace fleetmark::agent
