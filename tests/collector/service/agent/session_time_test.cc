// What time does to a session: no hello, silence, heartbeats, an end that is not read. Time is the number given to
// Tick.
#include "tests/collector/service/agent/session_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = v1::CollectorMessage;

class SessionTimeTest : public SessionFixture {
 protected:
  static constexpr int64_t kHeartbeat = 15 * kSecond;
};

// C-147: a peer that has a certificate and nothing to say.
TEST_F(SessionTimeTest, AStreamThatSaysNothingIsClosed) {
  const int64_t before = Now();
  Stream& stream = Open();
  const int64_t after = Now();
  stream.session->Tick(before + 20 * kSecond);
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
  stream.session->Tick(after + 20 * kSecond + 1);
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kDeadlineExceeded);
}

// However long the database takes: the agent has done its part.
TEST_F(SessionTimeTest, AnAgentThatWaitsForItsWelcomeIsNotClosed) {
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  stream.session->Tick(Now() + 600 * kSecond);
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
  EXPECT_EQ(stream.port.cancels(), 0);
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome));
}

TEST_F(SessionTimeTest, AHeartbeatIsSentWhenNothingElseWas) {
  const int64_t before = Now();
  Stream& stream = OpenLive();
  const int64_t after = Now();
  stream.session->Tick(before + kHeartbeat - 1);
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome));
  stream.session->Tick(after + kHeartbeat);
  stream.session->OnMessage(HeartbeatMessage());
  stream.session->Tick(Now() + kHeartbeat);
  ASSERT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kHeartbeat, Kind::kHeartbeat));
  EXPECT_EQ(stream.written()[1].heartbeat().number(), 1U);
  EXPECT_EQ(stream.written()[2].heartbeat().number(), 2U);
  EXPECT_GT(stream.written()[1].heartbeat().unix_seconds(), 1.7e9);

  const int64_t again = Now();
  ASSERT_TRUE(stream.session->Send(v1::CollectorMessage()).ok());
  stream.session->Tick(again + kHeartbeat - 1);
  EXPECT_THAT(stream.written(), SizeIs(4)) << "any message says as much";
}

// C-132: the cable is out and no packet says so.
TEST_F(SessionTimeTest, ASilentAgentIsCancelledAfterThreeHeartbeats) {
  const int64_t before = Now();
  Stream& stream = OpenLive();
  const int64_t after = Now();
  stream.session->Tick(before + 3 * kHeartbeat);
  EXPECT_EQ(stream.port.cancels(), 0);
  stream.session->Tick(after + 3 * kHeartbeat + 1);
  EXPECT_EQ(stream.port.cancels(), 1) << "not finished: nobody reads the end";
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
  EXPECT_EQ(stream.session->Send(v1::CollectorMessage()).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionTimeTest, AnyMessageIsASignOfLife) {
  Stream& stream = OpenLive();
  StopWorker();
  for (const v1::AgentMessage& message :
       {HeartbeatMessage(), ProgressMessage(1), RecordsMessage(1, {1}), v1::AgentMessage()}) {
    const int64_t before = Now();
    stream.session->OnMessage(message);
    stream.session->Tick(before + 3 * kHeartbeat);
    EXPECT_EQ(stream.port.cancels(), 0);
  }
}

// C-140: who is not read cannot be heard; its silence is ours.
TEST_F(SessionTimeTest, SilenceOfAnAgentThatIsNotReadMeansNothing) {
  Stream& stream = OpenLive();
  StopWorker();
  for (int i = 0; i < AgentSession::kMostWaiting; ++i) stream.session->OnMessage(InventoryMessage());
  const int64_t later = Now() + 3600 * kSecond;
  stream.session->Tick(later);
  EXPECT_EQ(stream.port.cancels(), 0);
  OpenWorkerAndFlush();
  stream.session->Tick(later + 3 * kHeartbeat);
  EXPECT_EQ(stream.port.cancels(), 0) << "it has its three heartbeats from now";
  stream.session->Tick(later + 3 * kHeartbeat + 1);
  EXPECT_EQ(stream.port.cancels(), 1);
}

TEST_F(SessionTimeTest, SilenceOfAThrottledAgentMeansNothing) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(RecordsMessage(1, {1}, 1'000'000));
  Flush();
  stream.session->Tick(Now() + 3600 * kSecond);
  EXPECT_EQ(stream.port.cancels(), 0);
}

// C-139: an end that the agent does not read does not hold anybody up.
TEST_F(SessionTimeTest, AnEndThatIsNotReadIsCancelledAfterFiveSeconds) {
  Stream& stream = OpenLive();
  const int64_t before = Now();
  stream.session->End({}, absl::UnavailableError("the collector stops"));
  const int64_t after = Now();
  stream.session->Tick(before + 5 * kSecond);
  EXPECT_EQ(stream.port.cancels(), 0);
  stream.session->Tick(after + 5 * kSecond + 1);
  EXPECT_EQ(stream.port.cancels(), 1);
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome)) << "no heartbeat after the end";
}

}  // namespace
}  // namespace fleetmark::collector
