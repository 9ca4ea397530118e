// The states of a session: how it begins, how it ends from each of them, and what it leaves behind.
#include "collector/service/agent/agent_session.h"

#include "tests/collector/service/agent/session_fixture.h"
#include "tests/support/collector/recording_link.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = v1::CollectorMessage;

class AgentSessionTest : public SessionFixture {
 protected:
  static v1::CollectorMessage Message() {
    v1::CollectorMessage message;
    message.mutable_progress_rate()->set_per_second(5);
    return message;
  }
  static v1::Refusal Removed() {
    v1::Refusal refusal;
    refusal.set_reason(v1::REFUSAL_REASON_REMOVED);
    return refusal;
  }
};

TEST_F(AgentSessionTest, AHelloMakesItLive) {
  Stream& stream = Open();
  EXPECT_FALSE(Connected());
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable) << "a stranger";
  stream.session->OnMessage(HelloMessage());
  Flush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome));
  EXPECT_EQ(stream.written()[0].welcome().host_name(), "mac");
  EXPECT_TRUE(Connected());
  EXPECT_TRUE(Claimed());
  EXPECT_THAT(events_.Take(), ElementsAre("ready"));
  EXPECT_TRUE(registry_.Send(kMac, Message()).ok());
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kProgressRate));
}

TEST_F(AgentSessionTest, AnAgentThatTakesNoTasksIsLiveAndNotReady) {
  v1::Hello hello = HelloOf();
  hello.mutable_status()->set_refuses_tasks_because("the spool is full");
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage(hello));
  Flush();
  EXPECT_TRUE(Connected());
  EXPECT_THAT(events_.Take(), ElementsAre("refuses for 5m"));
}

// C-130
TEST_F(AgentSessionTest, WhatTheRowsSayFollowsTheWelcome) {
  RunStore::Reconciliation reconciliation;
  reconciliation.start_again.emplace_back().set_task_id(4);
  reconciliation.cancel.push_back({3, 2});
  runs_.SetReconciliation(reconciliation);
  Stream& stream = OpenLive();
  ASSERT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kStart, Kind::kCancel));
  EXPECT_EQ(stream.written()[1].start().task_id(), 4);
  EXPECT_EQ(stream.written()[2].cancel().task_id(), 3);
  EXPECT_EQ(stream.written()[2].cancel().attempt(), 2U);
}

TEST_F(AgentSessionTest, TheFirstMessageMustBeAHello) {
  for (const v1::AgentMessage& message : {HeartbeatMessage(), RecordsMessage(1, {1}), AcceptedMessage(1),
                                          InventoryMessage(), ProgressMessage(1), v1::AgentMessage()}) {
    Stream& stream = Open();
    stream.session->OnMessage(message);
    EXPECT_EQ(stream.port.end(), absl::StatusCode::kInvalidArgument);
    stream.session->OnMessage(HelloMessage());  // too late
    stream.Detach();
    Flush();
    EXPECT_THAT(stream.written(), IsEmpty());
  }
  EXPECT_FALSE(Connected());
  EXPECT_EQ(hosts_.calls("IsRemoved"), 0);
  EXPECT_THAT(events_.Take(), IsEmpty());
  EXPECT_THAT(results_.records(), IsEmpty());
}

TEST_F(AgentSessionTest, ASecondHelloEndsIt) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(HelloMessage());
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(stream.port.finishes()[0].message()), HasSubstr("second hello"));
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_FALSE(Claimed());
  EXPECT_EQ(hosts_.calls("TakeClaim"), 1);
}

TEST_F(AgentSessionTest, ASecondHelloWhileTheFirstIsLookedAtEndsItWithoutAWelcome) {
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  stream.session->OnMessage(HelloMessage());
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kInvalidArgument);
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.written(), IsEmpty());
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_FALSE(Claimed());
  EXPECT_EQ(hosts_.calls("TakeClaim"), 0);
}

TEST_F(AgentSessionTest, ARefusalIsSentAndEndsTheStreamWithItsCode) {
  hosts_.SetClaim(kMac, Claimant{"c9", "s9", "b9"});
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  Flush();
  ASSERT_THAT(stream.kinds(), ElementsAre(Kind::kRefusal));
  EXPECT_EQ(stream.written()[0].refusal().reason(), v1::REFUSAL_REASON_IDENTITY_IN_USE);
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(Connected());
  EXPECT_THAT(events_.Take(), IsEmpty());
  stream.Detach();
  Flush();
  EXPECT_EQ(hosts_.host(kMac).claim->session_id, "s9") << "the holder's";
  EXPECT_EQ(hosts_.calls("ReleaseClaim"), 0);
}

// --- the end, from each state ---

TEST_F(AgentSessionTest, EndBeforeTheHello) {
  Stream& stream = Open();
  stream.session->End(Removed(), absl::UnavailableError("the collector stops"));
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kRefusal));
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kUnavailable);
  stream.session->OnMessage(HelloMessage());
  stream.Detach();
  Flush();
  EXPECT_EQ(hosts_.calls("TakeClaim"), 0);
  EXPECT_EQ(hosts_.calls("ReleaseClaim"), 0);
}

TEST_F(AgentSessionTest, EndWhileItIsAdmitted) {
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  stream.session->End({}, absl::UnavailableError("the collector stops"));
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kUnavailable);
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.written(), IsEmpty()) << "no welcome after the end";
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_FALSE(Claimed());
}

TEST_F(AgentSessionTest, EndOfALiveOneSaysWhyAndThenNothing) {
  Stream& stream = OpenLive();
  stream.session->End(Removed(), absl::PermissionDeniedError("removed"));
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kRefusal));
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  stream.session->OnMessage(RecordsMessage(1, {1}));
  stream.session->OnMessage(AcceptedMessage(1));
  stream.session->OnMessage(ProgressMessage(1));
  Flush();
  EXPECT_THAT(results_.records(), IsEmpty()) << "they stay in the agent's spool";
  EXPECT_THAT(runs_.accepted(), IsEmpty());
  EXPECT_THAT(events_.Take(), IsEmpty());
  EXPECT_THAT(stream.written(), SizeIs(2));
}

TEST_F(AgentSessionTest, TheFirstEndCounts) {
  Stream& stream = OpenLive();
  stream.session->End({}, absl::AbortedError("first"));
  stream.session->End(Removed(), absl::PermissionDeniedError("second"));
  stream.session->OnReadsEnded();
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kAborted);
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome));
}

TEST_F(AgentSessionTest, AfterDetachNothingReachesTheStream) {
  Stream& stream = OpenLive();
  stream.Detach();
  stream.session->End(Removed(), absl::AbortedError("too late"));
  stream.session->OnReadsEnded();
  stream.session->OnMessage(HeartbeatMessage());
  stream.session->OnMessage(RecordsMessage(1, {1}));
  stream.session->Tick(Now() + 3600 * kSecond);
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  Flush();
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
  EXPECT_THAT(stream.written(), SizeIs(1));
  EXPECT_EQ(stream.port.cancels(), 0);
  EXPECT_THAT(results_.records(), IsEmpty());
}

TEST_F(AgentSessionTest, AnAgentThatLeavesIsFinishedWithOk) {
  for (const bool with_hello : {false, true}) {
    Stream& stream = with_hello ? OpenLive() : Open();
    stream.session->OnReadsEnded();
    EXPECT_EQ(stream.port.end(), absl::StatusCode::kOk);
    stream.Detach();
    Flush();
    EXPECT_FALSE(Connected());
    EXPECT_FALSE(Claimed());
  }
}

// --- the stream is gone, in each state ---

TEST_F(AgentSessionTest, DetachBeforeTheHelloLeavesNothing) {
  Stream& stream = Open();
  stream.Detach();
  stream.session->OnMessage(HelloMessage());
  Flush();
  EXPECT_EQ(hosts_.calls("TakeClaim"), 0);
  EXPECT_EQ(hosts_.calls("ReleaseClaim"), 0);
}

// The stream broke before the worker thread came to its hello: the session that is live meanwhile goes on.
TEST_F(AgentSessionTest, DetachBeforeItIsAdmittedDisturbsNobody) {
  Stream& live = OpenLive();
  StopWorker();
  Stream& late = Open();
  late.session->OnMessage(HelloMessage());
  late.session->OnMessage(RecordsMessage(1, {1}));
  late.session->OnReadsEnded();
  late.Detach();
  OpenWorkerAndFlush();
  EXPECT_EQ(hosts_.calls("TakeClaim"), 1) << "the live one's";
  EXPECT_THAT(late.written(), IsEmpty());
  EXPECT_THAT(results_.records(), IsEmpty()) << "they stay in its spool";
  EXPECT_EQ(live.port.end(), std::nullopt);
  EXPECT_TRUE(registry_.Send(kMac, Message()).ok());
}

// The stream breaks in the middle of it: what admission does is undone by what follows it.
TEST_F(AgentSessionTest, DetachWhileItIsAdmittedGivesTheClaimBack) {
  Stream& stream = Open();
  trust_.OnLook([&] { stream.Detach(); });
  stream.session->OnMessage(HelloMessage());
  Flush();
  Flush();  // the job of Detach
  EXPECT_EQ(hosts_.calls("TakeClaim"), 1);
  EXPECT_FALSE(Claimed());
  EXPECT_FALSE(Connected());
  EXPECT_THAT(stream.written(), IsEmpty());
}

TEST_F(AgentSessionTest, DetachOfALiveOneGivesTheClaimBackAndFreesTheSession) {
  Stream& stream = OpenLive();
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_FALSE(Claimed());
  std::weak_ptr<AgentSession> weak = stream.session;
  stream.session.reset();
  Flush();
  EXPECT_TRUE(weak.expired()) << "no job keeps it";
}

TEST_F(AgentSessionTest, AClaimThatCannotBeGivenBackRunsOutByItself) {
  Stream& stream = OpenLive();
  hosts_.Fail("ReleaseClaim", absl::UnavailableError("the database is away"));
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_TRUE(Claimed());
  hosts_.Fail("ReleaseClaim", absl::OkStatus());
  OpenLive(HelloOf(kMac, "s2"));  // the same machine: its own claim does not keep it out
}

TEST_F(AgentSessionTest, ANewStreamOfTheSameAgentTakesOverAndTheOldOneLeavesNoGap) {
  Stream& old = OpenLive();
  Stream& fresh = OpenLive();
  EXPECT_EQ(old.port.end(), absl::StatusCode::kAborted);
  old.Detach();
  Flush();
  EXPECT_TRUE(Connected());
  EXPECT_TRUE(Claimed()) << "it is the new one's now";
  EXPECT_EQ(hosts_.calls("ReleaseClaim"), 0);
  ASSERT_TRUE(registry_.Send(kMac, Message()).ok());
  EXPECT_THAT(fresh.kinds(), ElementsAre(Kind::kWelcome, Kind::kProgressRate));
  EXPECT_THAT(old.kinds(), ElementsAre(Kind::kWelcome));
  fresh.Detach();
  Flush();
  EXPECT_FALSE(Connected());
  EXPECT_FALSE(Claimed());
}

// C-140: what it does not read is bounded.
TEST_F(AgentSessionTest, AStreamThatIsNotReadIsCancelled) {
  Stream& stream = OpenLive();
  stream.port.SetFull();
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(stream.port.cancels(), 1);
  EXPECT_EQ(stream.session->Send(Message()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(stream.port.cancels(), 1);
  stream.session->OnReadsEnded();
  stream.Detach();
  Flush();
  EXPECT_FALSE(Connected());
}

}  // namespace
}  // namespace fleetmark::collector
