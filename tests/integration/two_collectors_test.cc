// Two collectors on one database: agents on one, people on the other.
#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using Stub = v1::FleetService::Stub;

class TwoCollectorsTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    two_.JoinFleetOf(one_);
    ASSERT_TRUE(two_.Start());
  }

  RunId CreateRun() {
    v1::CreateRunRequest request;
    request.set_suite("host.clock");
    request.set_all_hosts(true);
    v1::CreateRunResponse response;
    const grpc::Status status = Call(two_.admin(), &Stub::CreateRun, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().id();
  }

  TestCollector two_{one_.dsn()};
};

TEST_F(TwoCollectorsTest, ARunCommandedAtOneIsMeasuredAtTheOtherAndWatched) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::WatchRunRequest request;
  request.set_run_id(CreateRun());
  grpc::ClientContext context;
  const auto stream = two_.admin().WatchRun(&context, request);
  v1::WatchRunResponse frame;
  ASSERT_TRUE(stream->Read(&frame));

  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords({records[0]}));
  std::atomic<bool> seen{false};
  std::thread reporter([&] {
    for (int i = 0; i < 300 && !seen; ++i) {
      v1::AgentMessage message;
      message.mutable_progress()->set_task_id(start->start().task_id());
      message.mutable_progress()->set_attempt(start->start().attempt());
      message.mutable_progress()->set_fraction(0.001 * i);
      agent.Send(message);
      absl::SleepFor(absl::Milliseconds(50));
    }
  });
  while (!seen && stream->Read(&frame)) seen = frame.has_progress();
  EXPECT_TRUE(seen) << "progress crosses from one collector to the other";
  reporter.join();
  ASSERT_TRUE(agent.SendRecords({records.begin() + 1, records.end()}));
  v1::WatchRunResponse last;
  while (stream->Read(&frame)) last = frame;
  EXPECT_EQ(last.run().state(), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(TwoCollectorsTest, ACancelAtOneReachesTheAgentAtTheOther) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::CancelRunRequest cancel;
  cancel.set_run_id(CreateRun());
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  ASSERT_TRUE(agent.SendRecords({ScriptedAgent::RecordsOf(start->start(), 1)[0]}));
  v1::CancelRunResponse cancelled;
  ASSERT_TRUE(Call(two_.admin(), &Stub::CancelRun, cancel, cancelled).ok());
  EXPECT_TRUE(agent.Await(v1::CollectorMessage::kCancel, absl::Seconds(5)).has_value());
}

TEST_F(TwoCollectorsTest, AHostRemovedAtOneIsDisconnectedFromTheOther) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::RemoveHostRequest request;
  request.set_host("a");
  v1::RemoveHostResponse response;
  ASSERT_TRUE(Call(two_.admin(), &Stub::RemoveHost, request, response).ok());
  const auto refusal = agent.Await(v1::CollectorMessage::kRefusal, absl::Seconds(15));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->refusal().reason(), v1::REFUSAL_REASON_REMOVED);
}

// C-130: the first collector goes away for good; its agent moves, its task is not started again.
TEST_F(TwoCollectorsTest, AnAgentMovesToTheOtherCollectorWithItsTask) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const RunId run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords({records[0]}));
  ASSERT_TRUE(agent.Await(v1::CollectorMessage::kAck).has_value());
  v1::UnfinishedTask& unfinished = *agent.hello().add_unfinished();
  unfinished.set_task_id(start->start().task_id());
  unfinished.set_attempt(start->start().attempt());
  unfinished.set_state(v1::UNFINISHED_STATE_RUNNING);
  unfinished.set_highest_sequence(1);
  one_.Stop();
  ASSERT_TRUE(agent.Join(two_));
  EXPECT_FALSE(agent.Await(v1::CollectorMessage::kStart, absl::Seconds(3)).has_value()) << "started again";
  ASSERT_TRUE(agent.SendRecords({records.begin() + 1, records.end()}));
  EXPECT_TRUE(Eventually([&] {
    v1::GetRunRequest request;
    request.set_run_id(run);
    v1::GetRunResponse response;
    return Call(two_.admin(), &Stub::GetRun, request, response).ok() &&
           response.run().state() == v1::RUN_STATE_SUCCEEDED;
  }));
}

TEST_F(TwoCollectorsTest, AJoinedCollectorCannotInvite) {
  v1::CreateInviteRequest request;
  request.set_kind(v1::INVITE_KIND_HOST);
  v1::CreateInviteResponse response;
  const grpc::Status status = Call(two_.admin(), &Stub::CreateInvite, request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
}

}  // namespace
}  // namespace fleetmark::collector
