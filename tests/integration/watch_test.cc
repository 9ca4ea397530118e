// Watching: the run at first, progress while it runs, the last frame always; a slow watcher costs nothing.
#include <gmock/gmock.h>

#include <fstream>

#include "absl/time/clock.h"
#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using Stub = v1::FleetService::Stub;

class WatchTest : public FleetTest {
 protected:
  RunId CreateRun() {
    v1::CreateRunRequest request;
    request.set_suite("host.clock");
    request.set_all_hosts(true);
    v1::CreateRunResponse response;
    EXPECT_TRUE(Call(one_.admin(), &Stub::CreateRun, request, response).ok());
    return response.run().id();
  }

  static v1::AgentMessage ProgressOf(const v1::StartTask& start, double fraction) {
    v1::AgentMessage message;
    v1::Progress& progress = *message.mutable_progress();
    progress.set_task_id(start.task_id());
    progress.set_attempt(start.attempt());
    progress.set_phase(v1::PHASE_MEASURING);
    progress.set_fraction(fraction);
    progress.set_step("rep 1 of 3");
    return message;
  }
};

TEST_F(WatchTest, BeginsWithTheRunAndEndsWithItsEnd) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::WatchRunRequest request;
  request.set_run_id(CreateRun());
  grpc::ClientContext context;
  const auto stream = one_.admin().WatchRun(&context, request);
  v1::WatchRunResponse frame;
  ASSERT_TRUE(stream->Read(&frame));
  ASSERT_TRUE(frame.has_run());
  EXPECT_EQ(frame.run().id(), request.run_id());
  ASSERT_EQ(frame.run().tasks_size(), 1);

  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords({records[0]}));
  std::thread reporter([&] {
    for (int i = 0; i < 20; ++i) {
      agent.Send(ProgressOf(start->start(), 0.05 * i));
      absl::SleepFor(absl::Milliseconds(50));
    }
  });
  bool progressed = false;
  while (!progressed && stream->Read(&frame)) progressed = frame.has_progress();
  EXPECT_TRUE(progressed);
  EXPECT_EQ(frame.progress().step(), "rep 1 of 3");
  reporter.join();
  ASSERT_TRUE(agent.SendRecords({records.begin() + 1, records.end()}));
  v1::WatchRunResponse last;
  while (stream->Read(&frame)) last = frame;
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_TRUE(last.has_run());
  EXPECT_EQ(last.run().state(), v1::RUN_STATE_SUCCEEDED);

  // A run that is over: one frame, and the end.
  grpc::ClientContext again;
  const auto over = one_.admin().WatchRun(&again, request);
  ASSERT_TRUE(over->Read(&frame));
  EXPECT_EQ(frame.run().state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_FALSE(over->Read(&frame));
  EXPECT_TRUE(over->Finish().ok());
}

TEST_F(WatchTest, AnUnknownRunIsNotFound) {
  v1::WatchRunRequest request;
  request.set_run_id(4711);
  grpc::ClientContext context;
  const auto stream = one_.admin().WatchRun(&context, request);
  v1::WatchRunResponse frame;
  EXPECT_FALSE(stream->Read(&frame));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(WatchTest, AgentsAreToldWhetherSomebodyWatches) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::WatchRunRequest request;
  request.set_run_id(CreateRun());
  grpc::ClientContext context;
  const auto stream = one_.admin().WatchRun(&context, request);
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  ASSERT_TRUE(agent.SendRecords({ScriptedAgent::RecordsOf(start->start(), 1)[0]}));
  ASSERT_TRUE(agent.Send(ProgressOf(start->start(), 0.1)));
  std::optional<v1::CollectorMessage> rate;
  EXPECT_TRUE(Eventually([&] {
    agent.Send(ProgressOf(start->start(), 0.2));
    rate = agent.Await(v1::CollectorMessage::kProgressRate, absl::Milliseconds(500));
    return rate.has_value() && rate->progress_rate().per_second() == 5;
  }));
  context.TryCancel();
}

// C-140
TEST_F(WatchTest, AWatcherThatDoesNotReadCostsNothingAndStillGetsTheEnd) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::WatchRunRequest request;
  request.set_run_id(CreateRun());
  grpc::ClientContext context;
  const auto slow = one_.admin().WatchRun(&context, request);
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords({records[0]}));
  v1::AgentMessage progress = ProgressOf(start->start(), 0.5);
  progress.mutable_progress()->set_step(std::string(4000, 'x'));
  const int kFrames = 20'000;  // 80 MB, far more than any buffer on the way holds
  for (int i = 0; i < kFrames; ++i) ASSERT_TRUE(agent.Send(progress));
  ASSERT_TRUE(agent.SendRecords({records.begin() + 1, records.end()}));
  ASSERT_TRUE(agent.Await(v1::CollectorMessage::kAck).has_value()) << "ingest is not slowed down";
  int frames = 0;
  v1::WatchRunResponse frame, last;
  while (slow->Read(&frame)) {
    ++frames;
    last = frame;
  }
  EXPECT_LT(frames, kFrames / 2) << "frames were dropped, not kept";
  ASSERT_TRUE(last.has_run());
  EXPECT_EQ(last.run().state(), v1::RUN_STATE_SUCCEEDED);
}

}  // namespace
}  // namespace fleetmark::collector
