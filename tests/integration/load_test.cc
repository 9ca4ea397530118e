// Many at once: streams, writers, and a stop in the middle of it all.
#include <gmock/gmock.h>

#include <fstream>

#include "absl/time/clock.h"
#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using Stub = v1::FleetService::Stub;

using LoadTest = FleetTest;

// C-139: 50 idle agents and as many watchers; the stop takes less than 10 s and every stream hears of it.
TEST_F(LoadTest, FiftyIdleStreamsDoNotHoldUpTheEnd) {
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (int i = 0; i < 50; ++i) {
    agents.push_back(std::make_unique<ScriptedAgent>(one_, "agent-" + std::to_string(i)));
    ASSERT_TRUE(agents.back()->Join(one_));
  }
  v1::GetStatusResponse status;
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(Call(one_.admin(), &Stub::GetStatus, v1::GetStatusRequest(), status).ok());
    return status.connected_agents() == 50;
  })) << status.connected_agents();
  EXPECT_TRUE(status.database_up());

  v1::CreateRunRequest run;
  run.set_suite("host.clock");
  run.set_all_hosts(true);
  v1::CreateRunResponse created;
  ASSERT_TRUE(Call(one_.admin(), &Stub::CreateRun, run, created).ok());
  for (auto& agent : agents) EXPECT_TRUE(agent->Await(v1::CollectorMessage::kStart).has_value());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchRunResponse>>> watchers;
  for (int i = 0; i < 20; ++i) {
    v1::WatchRunRequest watch;
    watch.set_run_id(created.run().id());
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watchers.push_back(one_.admin().WatchRun(contexts.back().get(), watch));
  }
  v1::WatchRunResponse frame;
  for (auto& watcher : watchers) ASSERT_TRUE(watcher->Read(&frame));

  EXPECT_LT(one_.Stop(), absl::Seconds(10));
  for (auto& agent : agents) EXPECT_EQ(agent->AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  for (auto& watcher : watchers) {
    while (watcher->Read(&frame)) {
    }
    EXPECT_EQ(watcher->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

// C-141, C-118: tasks, acknowledgements, cancellations and progress rates are written to a stream by many threads.
TEST_F(LoadTest, ManyWritersOnOneStream) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  constexpr int kRuns = 30;
  std::vector<std::thread> people;
  for (int person = 0; person < 3; ++person) {
    people.emplace_back([&] {
      for (int i = 0; i < kRuns / 3; ++i) {
        v1::CreateRunRequest run;
        run.set_suite("host.clock");
        run.set_all_hosts(true);
        v1::CreateRunResponse created;
        const grpc::Status status = Call(one_.admin(), &Stub::CreateRun, run, created);
        EXPECT_TRUE(status.ok()) << status.error_message();
      }
    });
  }
  std::atomic<bool> done{false};
  std::thread reporter([&] {
    while (!done) {
      v1::AgentMessage message;
      message.mutable_progress()->set_task_id(1);
      message.mutable_progress()->set_attempt(1);
      agent.Send(message);
      absl::SleepFor(absl::Milliseconds(1));
    }
  });
  for (int i = 0; i < kRuns; ++i) EXPECT_TRUE(agent.PerformTask(2).has_value()) << i;
  done = true;
  reporter.join();
  for (auto& person : people) person.join();
  EXPECT_TRUE(Eventually([&] {
    v1::ListRunsRequest list;
    list.set_limit(100);
    v1::ListRunsResponse runs;
    EXPECT_TRUE(Call(one_.admin(), &Stub::ListRuns, list, runs).ok());
    return std::all_of(runs.runs().begin(), runs.runs().end(),
                       [](const v1::Run& run) { return run.state() == v1::RUN_STATE_SUCCEEDED; });
  }));
}

// C-119: everybody comes back at once.
TEST_F(LoadTest, AgentsThatComeBackTogetherAreAllServed) {
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (int i = 0; i < 30; ++i) agents.push_back(std::make_unique<ScriptedAgent>(one_, "agent-" + std::to_string(i)));
  std::vector<std::thread> threads;
  std::atomic<int> joined{0};
  for (auto& agent : agents) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) joined += agent->Join(one_) ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(joined, 90);
}

}  // namespace
}  // namespace fleetmark::collector
