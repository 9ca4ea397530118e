// The link when collector, network or machine misbehave.
#include "tests/agent/connection/link_fixture.h"
#include "tests/support/stderr_log.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Side = ScriptedCollector::Side;

class AgentLinkTroubleTest : public LinkFixture {};

// Reads until the stream ends.
void ReadOn(Side& side) {
  v1::AgentMessage message;
  while (side.Read(&message)) {
  }
}

TEST_F(AgentLinkTroubleTest, RefusedOnceComesBackAfterTheTimeItWasTold) {
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > 2) return side.ServeNormally();
    side.ReadHello();
    side.SendRefusal(v1::REFUSAL_REASON_IDENTITY_IN_USE, "host testhost is connected from 10.0.0.7 already", 0.05);
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_EQ(collector->connections(), 3);
  EXPECT_EQ(listener_.disconnects, 0) << "a refusal is no connection";
}

// C-132, C-133: the connection is open and nothing comes any more.
TEST_F(AgentLinkTroubleTest, RemovalIsToldToTheAgentAndOtherRefusalsAreNot) {
  auto collector = MakeCollector([](Side& side) {
    side.ReadHello();
    side.SendRefusal(side.number == 1 ? v1::REFUSAL_REASON_OVERLOADED : v1::REFUSAL_REASON_REMOVED, "go away", 0.05);
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->connections() >= 2 && listener_.removals > 0; }));
  EXPECT_LT(listener_.removals, collector->connections());
}

TEST_F(AgentLinkTroubleTest, SilentCollectorIsLeft) {
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > 1) return side.ServeNormally(0.1);
    side.ReadHello();
    side.SendWelcome(0.1);
    ReadOn(side);
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->connections() == 2 && link_->connected(); }));
  EXPECT_EQ(listener_.disconnects, 1);
}

TEST_F(AgentLinkTroubleTest, CollectorThatNeverAnswersTheHelloIsLeft) {
  options_.welcome_deadline = absl::Milliseconds(200);
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > 1) return side.ServeNormally();
    ReadOn(side);
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_EQ(collector->connections(), 2);
}

// C-133: heartbeats come, acknowledgements do not.
TEST_F(AgentLinkTroubleTest, OverdueAcknowledgementEndsTheStream) {
  options_.transfer.ack_deadline_ns = 200'000'000;
  Append(1, {Started()});
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > 1) return side.ServeNormally();
    side.ReadHello();
    side.SendWelcome(0.1);
    v1::AgentMessage message;
    while (side.Read(&message)) {
      if (message.has_heartbeat()) side.SendHeartbeat();
    }
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 1; }));
  EXPECT_GE(collector->connections(), 2);
}

TEST_F(AgentLinkTroubleTest, HoldKeepsRecordsBackUntilItsTimeHasPassed) {
  options_.transfer.ack_deadline_ns = 100'000'000;  // does not run while held
  std::atomic<int> batches{0};
  std::atomic<int64_t> held_at{0};
  std::atomic<int64_t> resumed_at{0};
  auto collector = MakeCollector([&](Side& side) {
    if (!side.ReadHello() || !side.SendWelcome(0.1)) return grpc::Status::OK;
    v1::AgentMessage message;
    while (side.Read(&message)) {
      if (message.has_heartbeat()) side.SendHeartbeat();
      if (!message.has_records()) continue;
      if (++batches == 1) {
        held_at = SystemClock().MonotonicNs();
        side.SendHold(0.4);
        continue;
      }
      if (resumed_at == 0) resumed_at = SystemClock().MonotonicNs();
      side.Commit(message.records());
    }
    return grpc::Status::OK;
  });
  Append(1, {Started()});
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 1; }));
  EXPECT_EQ(collector->connections(), 1);
  EXPECT_GE(resumed_at - held_at, 390'000'000) << "sent again, but not before";
}

TEST_F(AgentLinkTroubleTest, HoldEndsWithTheNextAcknowledgement) {
  std::atomic<int> batches{0};
  auto collector = MakeCollector([&](Side& side) {
    if (!side.ReadHello() || !side.SendWelcome(0.1)) return grpc::Status::OK;
    v1::AgentMessage message;
    while (side.Read(&message)) {
      if (message.has_heartbeat()) side.SendHeartbeat();
      if (!message.has_records()) continue;
      if (++batches == 1) side.SendHold(500);
      side.Commit(message.records());
    }
    return grpc::Status::OK;
  });
  Append(1, {Started()});
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 1; }));
  Append(1, {RepetitionOf(1)});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 2; }));
}

TEST_F(AgentLinkTroubleTest, WalksTheListOfCollectors) {
  auto gone = NormalCollector();
  const std::string dead = gone->address();
  gone->Stop();
  auto collector = NormalCollector();
  StartLink({dead, collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_EQ(collector->connections(), 1);
}

// C-091: the machine slept; the stream looks alive and is not.
TEST_F(AgentLinkTroubleTest, AfterASleepTheConnectionIsMadeAnew) {
  auto collector = NormalCollector(60);
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  clock_.slept_ns = 600'000'000'000;
  ASSERT_TRUE(collector->WaitFor([&] { return collector->connections() == 2 && link_->connected(); }));
  EXPECT_EQ(listener_.disconnects, 1);
}

// C-091: a long wait between two tries ends when the machine wakes.
TEST_F(AgentLinkTroubleTest, AfterASleepTheWaitForTheNextTryEnds) {
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > 1) return side.ServeNormally();
    side.ReadHello();
    side.SendRefusal(v1::REFUSAL_REASON_OVERLOADED, "too many agents", 3000);
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->connections() == 1; }));
  clock_.slept_ns = 60'000'000'000;
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
}

// C-135: down for a while, then up again at the same address.
TEST_F(AgentLinkTroubleTest, ComesBackWhenTheCollectorDoes) {
  auto first = NormalCollector(0.1);
  const int port = first->port();
  StartLink({first->address()});
  ASSERT_TRUE(first->WaitFor([&] { return link_->connected(); }));
  first->Stop();
  ASSERT_TRUE(first->WaitFor([&] { return !link_->connected(); }));
  Append(1, {Started()});
  auto second = MakeCollector([](Side& side) { return side.ServeNormally(); }, 8 << 20, port);
  ASSERT_TRUE(second->WaitFor([&] { return second->Committed(1).size() == 1; }));
}

// C-134: a collector whose limit is smaller than our messages gets smaller ones.
TEST_F(AgentLinkTroubleTest, MessagesShrinkForACollectorThatFindsThemTooLarge) {
  auto collector = MakeCollector([](Side& side) { return side.ServeNormally(); }, 64 << 10);
  std::vector<v1::Record> records;
  for (uint32_t i = 1; i <= 40; ++i) records.push_back(RepetitionOf(i, 10 << 10));
  Append(1, records);
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 40; }));
  EXPECT_GT(collector->connections(), 1);
  EXPECT_TRUE(collector->CommittedRecord(1, 40).has_repetition());
}

// C-134: one record too large by itself is given up, and does not stand in the way of the others.
TEST_F(AgentLinkTroubleTest, RecordThatNeverFitsIsGivenUpInsteadOfSentForEver) {
  auto collector = MakeCollector([](Side& side) { return side.ServeNormally(); }, 64 << 10);
  Append(1, {Started(), RepetitionOf(1, 100 << 10), RepetitionOf(2), Finished()});
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return spool_.Tasks()->empty(); }));
  EXPECT_THAT(collector->Committed(1), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(collector->CommittedRecord(1, 2).kind_case(), v1::Record::KIND_NOT_SET);
  EXPECT_EQ(collector->CommittedRecord(1, 3).repetition().number(), 2u);
}

// C-146
TEST_F(AgentLinkTroubleTest, ProtocolOutsideOurRangeIsLeftAtOnceAndTriedSlowly) {
  auto collector = MakeCollector([&](Side& side) {
    side.ReadHello();
    side.SendWelcome(1, 9);
    ReadOn(side);
    return grpc::Status::OK;
  });
  const test::StderrLog log;
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return log.Has("next try"); }));
  EXPECT_THAT(log.text(), HasSubstr("protocol 9, and this agent speaks 1 to 1"));
  EXPECT_THAT(log.text(), HasSubstr("next try in 60"));
  EXPECT_EQ(collector->connections(), 1);
  EXPECT_EQ(listener_.welcomes, 0);
  EXPECT_FALSE(link_->connected());
}

}  // namespace
}  // namespace fleetmark::agent
