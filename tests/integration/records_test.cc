// Records: committed before they are acknowledged, once in effect, whatever happens on the way.
#include <gmock/gmock.h>

#include <limits>

#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

class RecordsTest : public FleetTest {
 protected:
  RunId CreateRun(const std::string& suite = "host.clock") {
    v1::CreateRunRequest request;
    request.set_suite(suite);
    request.set_all_hosts(true);
    v1::CreateRunResponse response;
    const grpc::Status status = Call(one_.admin(), &v1::FleetService::Stub::CreateRun, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().id();
  }

  v1::Run GetRun(RunId id) {
    v1::GetRunRequest request;
    request.set_run_id(id);
    v1::GetRunResponse response;
    EXPECT_TRUE(Call(one_.admin(), &v1::FleetService::Stub::GetRun, request, response).ok());
    return response.run();
  }

  std::string Scalar(const std::string& sql) { return testing::SqlValue(one_.dsn(), sql); }

  // Every result of a task, with what makes two deliveries equal; ids and arrival times left out.
  std::string Dump(int64_t task) {
    std::string dump;
    for (const std::string table : {"repetition", "measurement", "sample_chunk"}) {
      const std::string sql =
          "SELECT coalesce(string_agg(row, chr(10) ORDER BY row), '') FROM (SELECT (to_jsonb(t) - 'task_id' - 'run_id' "
          "- "
          "'received_at' - 'id')::text AS row FROM fleetmark." +
          table + " t WHERE t.task_id = " + std::to_string(task) + ") rows";
      dump += table + "\n" + Scalar(sql) + "\n";
    }
    return dump;
  }
};

TEST_F(RecordsTest, AnAckComesOnlyAfterTheCommit) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const RunId run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->start().run_id(), run);
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  for (const v1::Record& record : records) {
    ASSERT_TRUE(agent.SendRecords({record}));
    const auto ack = agent.Await(v1::CollectorMessage::kAck);
    ASSERT_TRUE(ack.has_value());
    ASSERT_EQ(ack->ack().sequence(), record.id().sequence());
    // Another connection sees what was acknowledged.
    EXPECT_EQ(Scalar("SELECT count(*) FROM fleetmark.record WHERE task_id = " + std::to_string(record.id().task_id())),
              std::to_string(record.id().sequence()));
  }
  EXPECT_EQ(GetRun(run).state(), v1::RUN_STATE_SUCCEEDED);
}

// C-114: cut after each record, sent again from the last acknowledged one or from the start, the rows
// are those of an uncut delivery.
TEST_F(RecordsTest, AStreamCutAfterAnyRecordYieldsTheSameRows) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  CreateRun();
  const auto whole = agent.PerformTask(3);
  ASSERT_TRUE(whole.has_value());
  const std::string expected = Dump(whole->task_id());
  EXPECT_THAT(expected, HasSubstr("rate"));

  const size_t count = ScriptedAgent::RecordsOf(*whole, 3).size();
  for (size_t cut = 0; cut <= count; ++cut) {
    const RunId run = CreateRun();
    const auto start = agent.Await(v1::CollectorMessage::kStart);
    ASSERT_TRUE(start.has_value()) << "cut " << cut;
    ASSERT_TRUE(agent.Accept(start->start()));
    const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
    for (size_t i = 0; i < cut; ++i) ASSERT_TRUE(agent.SendRecords({records[i]}));
    agent.Cut();  // with or without the acknowledgements of what went before

    agent.hello().clear_unfinished();
    v1::UnfinishedTask& unfinished = *agent.hello().add_unfinished();
    unfinished.set_task_id(start->start().task_id());
    unfinished.set_attempt(start->start().attempt());
    unfinished.set_state(v1::UNFINISHED_STATE_FINISHED);
    unfinished.set_highest_sequence(count);
    ASSERT_TRUE(agent.Join(one_));
    agent.hello().clear_unfinished();
    // A few at a time, backwards for odd cuts: order must not matter either.
    std::vector<v1::Record> again = records;
    if (cut % 2 == 1) std::reverse(again.begin(), again.end());
    for (const v1::Record& record : again) ASSERT_TRUE(agent.SendRecords({record}));
    EXPECT_TRUE(Eventually([&] { return GetRun(run).state() == v1::RUN_STATE_SUCCEEDED; })) << "cut " << cut;
    EXPECT_EQ(Dump(start->start().task_id()), expected) << "cut " << cut;
  }
}

TEST_F(RecordsTest, RecordsOfAnotherHostsTaskAreRefused) {
  ScriptedAgent a(one_, "a"), b(one_, "b");
  ASSERT_TRUE(a.Join(one_));
  CreateRun();
  const auto start = a.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(b.Join(one_));
  ASSERT_TRUE(b.SendRecords(ScriptedAgent::RecordsOf(start->start(), 3)));
  EXPECT_TRUE(b.Await(v1::CollectorMessage::kAck).has_value()) << "set aside, and acknowledged all the same";
  EXPECT_EQ(Scalar("SELECT count(*) FROM fleetmark.repetition"), "0");
}

// C-111
TEST_F(RecordsTest, AValueThatIsNotFiniteLosesOnlyItself) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  records[1].mutable_repetition()->mutable_measurements(0)->set_value(std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(agent.SendRecords(records));
  const auto ack = agent.Await(v1::CollectorMessage::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->ack().sequence(), records.size());
  EXPECT_EQ(Scalar("SELECT count(*) FROM fleetmark.measurement WHERE value IS NOT NULL"), "2");
  EXPECT_EQ(Scalar("SELECT count(*) FROM fleetmark.measurement WHERE value IS NULL"), "1");
}

// C-134
TEST_F(RecordsTest, MessagesOverFourMebibytesArriveAndAbsurdOnesEndTheStream) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 6);
  size_t bytes = 0;
  for (v1::Record& record : records) {
    if (record.has_samples()) {
      for (int i = 0; i < 90'000; ++i) {
        record.mutable_samples()->add_offset_deltas_us(1000);
        record.mutable_samples()->add_values(i);
      }
    }
    bytes += record.ByteSizeLong();
  }
  ASSERT_GT(bytes, size_t{4} << 20);
  ASSERT_LT(bytes, size_t{8} << 20);
  ASSERT_TRUE(agent.SendRecords(records));
  const auto ack = agent.Await(v1::CollectorMessage::kAck, absl::Seconds(60));
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->ack().sequence(), records.size());

  v1::Record absurd;
  *absurd.mutable_id() = records.back().id();
  absurd.mutable_finished()->set_reason(std::string(size_t{3} << 20, 'x'));
  agent.SendRecords({absurd});
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// C-117, C-122: a database that turns read-only. No ack, no end of the stream; when it is back, all is stored.
TEST_F(RecordsTest, ADatabaseThatTakesNothingMakesAgentsHold) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const RunId run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::string name = Scalar("SELECT current_database()");
  const std::string kick = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '" + name +
                           "' AND pid <> pg_backend_pid()";
  testing::Sql(one_.dsn(), "ALTER DATABASE " + name + " SET default_transaction_read_only = on");
  Scalar(kick);
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords(records));
  const auto hold = agent.Next(absl::Seconds(60));
  ASSERT_TRUE(hold.has_value() && hold->has_hold()) << (hold ? hold->ShortDebugString() : "the stream ended");
  EXPECT_GT(hold->hold().seconds(), 0);
  EXPECT_EQ(Scalar("SELECT count(*) FROM fleetmark.record"), "0");

  testing::Sql(testing::DsnOf("postgres"), "ALTER DATABASE " + name + " RESET default_transaction_read_only");
  Scalar(kick);
  EXPECT_TRUE(Eventually([&] {
    if (!agent.SendRecords(records)) return false;
    const auto answer = agent.Next(absl::Seconds(10));
    return answer.has_value() && answer->has_ack() && answer->ack().sequence() == records.size();
  }));
  EXPECT_EQ(GetRun(run).state(), v1::RUN_STATE_SUCCEEDED);
}

}  // namespace
}  // namespace fleetmark::collector
