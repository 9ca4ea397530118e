// The link when things go well, and when the stream is cut.
#include <thread>

#include "tests/agent/connection/link_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Side = ScriptedCollector::Side;

class AgentLinkTest : public LinkFixture {};

TEST_F(AgentLinkTest, HelloCarriesIdentityOfTheCertificateAndProtocolRange) {
  auto collector = NormalCollector();
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  const auto received = collector->Received();
  ASSERT_THAT(received, SizeIs(1));
  const v1::Hello& hello = received[0].hello();
  EXPECT_EQ(hello.host_id(), kHostId);
  EXPECT_EQ(hello.host_name(), "machine");
  EXPECT_EQ(hello.protocol_minimum(), kProtocolMinimum);
  EXPECT_EQ(hello.protocol_maximum(), kProtocolMaximum);
  EXPECT_NEAR(hello.unix_seconds(), absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 60);
  EXPECT_EQ(listener_.welcomes, 1);
}

TEST_F(AgentLinkTest, SendsWhatIsSpooledAndDeletesWhatIsAcknowledged) {
  Append(1, {Started(), RepetitionOf(1)});
  auto collector = NormalCollector();
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 2; }));
  Append(1, {Finished()});
  ASSERT_TRUE(collector->WaitFor([&] { return spool_.Tasks()->empty(); }));
  EXPECT_THAT(collector->Committed(1), ElementsAre(1, 2, 3));
  EXPECT_TRUE(link_->Drain(absl::Seconds(10)));
}

// Cut after each message, in both directions: what the collector has at the end is the same. C-101
TEST_F(AgentLinkTest, ResendsAfterACutAtEveryMessage) {
  constexpr int kCuts = 12;
  constexpr uint64_t kRecords = 30;
  options_.transfer.batch_bytes = 300;  // a few records a message
  auto collector = MakeCollector([&](Side& side) {
    if (side.number > kCuts) return side.ServeNormally();
    // The connection ends after `number` messages, the last of which is received but not acknowledged, or committed
    // and its acknowledgement lost.
    v1::AgentMessage message;
    if (!side.ReadHello() || side.number == 1 || !side.SendWelcome()) return grpc::Status::OK;
    for (int left = side.number / 2; left > 0; --left) {
      if (!side.Read(&message)) return grpc::Status::OK;
      if (message.has_records() && (left > 1 || side.number % 2 == 0)) side.Commit(message.records());
    }
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut");
  });
  std::vector<v1::Record> records = {Started()};
  for (uint32_t i = 1; i < kRecords - 1; ++i) records.push_back(RepetitionOf(i, 50));
  records.push_back(Finished());
  Append(1, records);
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return spool_.Tasks()->empty(); }));
  ASSERT_THAT(collector->Committed(1), SizeIs(kRecords));
  EXPECT_EQ(collector->CommittedRecord(1, 5).repetition().number(), 4u);
  EXPECT_GT(collector->connections(), 3);
}

TEST_F(AgentLinkTest, AcknowledgementsOutOfRangeAreIgnored) {
  Append(1, {Started(), RepetitionOf(1)});
  auto collector = MakeCollector([&](Side& side) {
    v1::AgentMessage message;
    if (!side.ReadHello() || !side.SendWelcome() || !side.Read(&message)) return grpc::Status::OK;
    side.SendAck(1, 99);  // more than there is
    side.SendAck(77, 5);  // a task nobody knows
    side.SendAck(1, 0);
    side.SendStart(42);  // comes after them
    while (side.Read(&message)) {
    }
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return listener_.last_started == 42; }));
  EXPECT_EQ(spool_.Status().spooled_records(), 2u);
  EXPECT_TRUE(link_->connected());
}

TEST_F(AgentLinkTest, BatchesHoldAtMostOneMebibyteAndTheWindowBoundsWhatIsUnderWay) {
  // C-140: a collector that reads and does not acknowledge gets no more than the window.
  std::atomic<size_t> got{0};
  std::atomic<bool> commit{false};
  auto collector = MakeCollector([&](Side& side) {
    if (!side.ReadHello() || !side.SendWelcome()) return grpc::Status::OK;
    v1::AgentMessage message;
    std::vector<v1::RecordBatch> waiting;
    while (side.Read(&message)) {
      if (message.has_records()) {
        got += message.ByteSizeLong();
        waiting.push_back(message.records());
      }
      if (!commit) continue;
      for (const v1::RecordBatch& batch : waiting) side.Commit(batch);
      waiting.clear();
    }
    return grpc::Status::OK;
  });
  for (int64_t task = 1; task <= 20; ++task) Append(task, {Started(), RepetitionOf(1, 700 << 10), Finished()});
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return got > (4u << 20); }));
  // The link has nothing to wait for but this; the next message it sends is one we ask for.
  link_->Send(Accepted(1));
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_LT(got, 6u << 20);
  commit = true;
  link_->Send(Accepted(2));
  ASSERT_TRUE(collector->WaitFor([&] { return spool_.Tasks()->empty(); }));
  EXPECT_LE(collector->largest_batch(), 1u << 20);
}

// C-141: several writers, one stream.
TEST_F(AgentLinkTest, ParallelSendersAreSerialised) {
  auto collector = NormalCollector();
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) link_->Send(Accepted(t * 1000 + i));
    });
  }
  threads.emplace_back([&] {
    v1::Progress progress;
    progress.set_task_id(1);
    for (int i = 0; i < 1000; ++i) link_->OfferProgress(progress);
  });
  threads.emplace_back([&] {
    for (uint32_t i = 1; i <= 100; ++i) {
      std::vector<v1::Record> records = {RepetitionOf(i)};
      EXPECT_TRUE(outbox_.Append(1, 1, records).ok());
      link_->RecordsAvailable();
    }
  });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(collector->WaitFor([&] { return collector->Committed(1).size() == 100; }));
  ASSERT_TRUE(collector->WaitFor([&] { return collector->CountReceived(v1::AgentMessage::kAccepted) == 120; }));
  EXPECT_LT(collector->CountReceived(v1::AgentMessage::kProgress), 50) << "the newest wins";
  EXPECT_EQ(collector->connections(), 1);
}

TEST_F(AgentLinkTest, TellsAChangedStatusWithTheHeartbeat) {
  auto collector = NormalCollector(0.1);
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return collector->CountReceived(v1::AgentMessage::kHeartbeat) >= 2; }));
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  std::vector<v1::Record> records = {Started()};
  ASSERT_TRUE(outbox_.Append(1, 1, records).ok());  // and nobody tells the link
  ASSERT_TRUE(collector->WaitFor([&] { return collector->CountReceived(v1::AgentMessage::kStatus) >= 1; }));
}

TEST_F(AgentLinkTest, PassesOnStartCancelAndProgressRate) {
  auto collector = MakeCollector([&](Side& side) {
    if (!side.ReadHello() || !side.SendWelcome()) return grpc::Status::OK;
    side.SendStart(5);
    v1::CollectorMessage cancel;
    cancel.mutable_cancel()->set_task_id(6);
    side.Write(cancel);
    v1::AgentMessage message;
    while (side.Read(&message)) {
    }
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return listener_.last_started == 5 && listener_.last_cancelled == 6; }));
}

TEST_F(AgentLinkTest, ShutdownIsQuickAndTwiceIsFine) {
  auto collector = MakeCollector([&](Side& side) {
    // Never ends by itself: only a cancelled stream ends this Read.
    v1::AgentMessage message;
    side.ReadHello();
    side.SendWelcome();
    while (side.Read(&message)) {
    }
    while (side.SendHeartbeat()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return grpc::Status::OK;
  });
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_EQ(link_->Shutdown(absl::Seconds(2)), "");
  EXPECT_FALSE(link_->connected());
  EXPECT_EQ(listener_.disconnects, 1);
  EXPECT_EQ(link_->Shutdown(absl::Seconds(2)), "");
}

TEST_F(AgentLinkTest, DrainWithoutAConnectionDoesNotWait) {
  Append(1, {Started()});
  StartLink({"127.0.0.1:1"});
  EXPECT_FALSE(link_->Drain(absl::Minutes(5)));
}

}  // namespace
}  // namespace fleetmark::agent
