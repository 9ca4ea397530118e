// What a session does with the messages of its agent, how much of it may wait, and what it does again.
#include <limits>

#include "tests/collector/service/agent/session_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = v1::CollectorMessage;

class SessionWorkTest : public SessionFixture {};

TEST_F(SessionWorkTest, RecordsAreAcknowledgedAfterTheirCommit) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(RecordsMessage(1, {1, 2}));
  Flush();
  EXPECT_THAT(results_.records(), SizeIs(2));
  ASSERT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kAck));
  EXPECT_EQ(stream.written()[1].ack().task_id(), 1);
  EXPECT_EQ(stream.written()[1].ack().sequence(), 2U);
  EXPECT_THAT(events_.Take(), IsEmpty()) << "no state has changed";
}

TEST_F(SessionWorkTest, AFinishedTaskIsNewsForItsRunAndRoomForTheNext) {
  Stream& stream = OpenLive();
  v1::AgentMessage message = RecordsMessage(1, {3});
  message.mutable_records()->mutable_records(0)->mutable_finished();
  stream.session->OnMessage(message);
  Flush();
  EXPECT_THAT(events_.Take(), ElementsAre("run 7 changed", "ready"));
}

TEST_F(SessionWorkTest, RecordsThatWaitGoIntoOneTransactionInTheirOrder) {
  Stream& stream = OpenLive();
  StopWorker();
  for (uint64_t i = 1; i <= 5; ++i) stream.session->OnMessage(RecordsMessage(1, {i}));
  OpenWorkerAndFlush();
  EXPECT_EQ(results_.calls("StoreRecords"), 1);
  ASSERT_THAT(results_.records(), SizeIs(5));
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(results_.records()[i - 1].id().sequence(), i);
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kAck));
  stream.session->OnMessage(RecordsMessage(1, {6}));
  Flush();
  EXPECT_EQ(results_.calls("StoreRecords"), 2);
}

TEST_F(SessionWorkTest, RecordsSentBeforeTheWelcomeAreStoredAfterIt) {
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  stream.session->OnMessage(RecordsMessage(1, {1}));
  EXPECT_THAT(results_.records(), IsEmpty());
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kAck));
  EXPECT_THAT(results_.records(), SizeIs(1));
}

// A cloned machine, or one that was removed: it may say what it wants, none of it counts.
TEST_F(SessionWorkTest, NothingOfAnAgentThatIsRefusedCounts) {
  hosts_.SetClaim(kMac, Claimant{"c9", "s9", "b9"});
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  stream.session->OnMessage(RecordsMessage(1, {1}));
  stream.session->OnMessage(AcceptedMessage(1));
  stream.session->OnMessage(RefusedMessage(1, false));
  stream.session->OnMessage(InventoryMessage());
  stream.session->OnMessage(StatusMessage());
  stream.session->OnMessage(ProgressMessage(1));
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kRefusal));
  EXPECT_THAT(results_.records(), IsEmpty());
  EXPECT_THAT(runs_.accepted(), IsEmpty());
  EXPECT_THAT(runs_.refused(), IsEmpty());
  EXPECT_THAT(hosts_.host(kMac).inventories, IsEmpty());
  EXPECT_THAT(hosts_.host(kMac).statuses, IsEmpty());
  EXPECT_THAT(events_.Take(), IsEmpty());
}

TEST_F(SessionWorkTest, MessagesAreRecordedAndToldInTheirOrder) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(AcceptedMessage(1));
  stream.session->OnMessage(RefusedMessage(2, /*temporary=*/true));
  stream.session->OnMessage(RefusedMessage(3, /*temporary=*/false));
  stream.session->OnMessage(InventoryMessage("6.2"));
  stream.session->OnMessage(StatusMessage("the spool is full"));
  stream.session->OnMessage(StatusMessage());
  Flush();
  EXPECT_THAT(runs_.accepted(), ElementsAre(AttemptKey{1, 1}));
  ASSERT_THAT(runs_.refused(), SizeIs(2));
  EXPECT_TRUE(runs_.refused()[0].temporary);
  EXPECT_EQ(runs_.refused()[1].key, (AttemptKey{3, 1}));
  EXPECT_EQ(runs_.refused()[1].reason, "no target 'ssd'");
  ASSERT_THAT(hosts_.host(kMac).inventories, SizeIs(1));
  EXPECT_EQ(hosts_.host(kMac).inventories[0].os().kernel(), "6.2");
  EXPECT_THAT(hosts_.host(kMac).statuses, SizeIs(2));
  EXPECT_THAT(events_.Take(), ElementsAre("refuses for 30s", "ready", "refuses for 5m", "ready"));
  EXPECT_THAT(stream.written(), SizeIs(1)) << "none of these is answered";
}

// What watchers see is as clean as what is stored.
TEST_F(SessionWorkTest, ProgressIsMendedBeforeAnyoneSeesIt) {
  Stream& stream = OpenLive();
  v1::AgentMessage message = ProgressMessage(10);
  message.mutable_progress()->set_fraction(std::numeric_limits<double>::quiet_NaN());
  stream.session->OnMessage(message);
  EXPECT_THAT(events_.Take(), ElementsAre("progress of 10"));
}

// Progress does not wait for the database, nor for what waits for it.
TEST_F(SessionWorkTest, ProgressPassesTheWorkerThreadBy) {
  Stream& stream = OpenLive();
  StopWorker();
  stream.session->OnMessage(RecordsMessage(1, {1}));
  stream.session->OnMessage(ProgressMessage(10));
  EXPECT_THAT(events_.Take(), ElementsAre("progress of 10"));
}

// C-128
TEST_F(SessionWorkTest, AMessageOfANewerAgentIsPassedOver) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(v1::AgentMessage());
  stream.session->OnMessage(RecordsMessage(1, {1}));
  Flush();
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
  EXPECT_THAT(results_.records(), SizeIs(1));
}

// C-115, C-117, C-122
TEST_F(SessionWorkTest, WhatTheDatabaseDoesNotTakeIsHeldByTheAgentAndTheSessionGoesOn) {
  Stream& stream = OpenLive();
  results_.Fail("StoreRecords", absl::UnavailableError("no space left on device"));
  stream.session->OnMessage(RecordsMessage(1, {1}));
  Flush();
  ASSERT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kHold));
  EXPECT_EQ(stream.written()[1].hold().seconds(), 5);
  EXPECT_THAT(stream.written()[1].hold().reason(), HasSubstr("no space left on device"));
  EXPECT_TRUE(stream.session->MayRead());
  results_.Fail("StoreRecords", absl::OkStatus());
  stream.session->OnMessage(RecordsMessage(1, {1}));
  Flush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kHold, Kind::kAck));
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
}

// C-134: one that can never be stored: the agent has to know, and its stream ends with that.
TEST_F(SessionWorkTest, ARecordOverTheLimitsEndsTheSession) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(RecordsMessage(1, {1}, size_t{3} << 20));
  Flush();
  EXPECT_EQ(stream.port.end(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(stream.port.finishes()[0].message()), HasSubstr("record 1"));
  EXPECT_THAT(results_.records(), IsEmpty());
}

TEST_F(SessionWorkTest, CommitsWhoseSessionHasEndedAreNotAcknowledged) {
  Stream& stream = OpenLive();
  StopWorker();
  stream.session->OnMessage(RecordsMessage(1, {1}));
  stream.session->End({}, absl::AbortedError("moved"));
  OpenWorkerAndFlush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome));
  EXPECT_THAT(results_.records(), SizeIs(1)) << "stored all the same; the next session acknowledges the duplicate";
}

// --- so many messages may wait ---

TEST_F(SessionWorkTest, ReadingPausesWhenEnoughWaitsAndGoesOnWhenHalfOfItIsDone) {
  Stream& stream = OpenLive();
  StopWorker();
  for (int i = 1; i < AgentSession::kMostWaiting; ++i) {
    stream.session->OnMessage(InventoryMessage());
    EXPECT_TRUE(stream.session->MayRead()) << i;
  }
  stream.session->OnMessage(InventoryMessage());
  EXPECT_FALSE(stream.session->MayRead());
  const int before = stream.port.resumes();
  stream.session->Tick(Now());
  EXPECT_EQ(stream.port.resumes(), before) << "time does not make room";
  OpenWorkerAndFlush();
  EXPECT_TRUE(stream.session->MayRead());
  EXPECT_EQ(stream.port.resumes() - before, AgentSession::kMostWaiting / 2 + 1) << "not for each one that is done";
}

TEST_F(SessionWorkTest, RecordsThatWaitCountByMessage) {
  Stream& stream = OpenLive();
  StopWorker();
  for (uint64_t i = 1; i < AgentSession::kMostWaiting; ++i) stream.session->OnMessage(RecordsMessage(1, {i}));
  EXPECT_TRUE(stream.session->MayRead());
  stream.session->OnMessage(RecordsMessage(1, {AgentSession::kMostWaiting}));
  EXPECT_FALSE(stream.session->MayRead());
  const int before = stream.port.resumes();
  OpenWorkerAndFlush();
  EXPECT_TRUE(stream.session->MayRead());
  EXPECT_EQ(stream.port.resumes(), before + 1) << "one transaction, one resumption";
}

TEST_F(SessionWorkTest, WhatNeedsNoDatabaseDoesNotCount) {
  Stream& stream = OpenLive();
  StopWorker();
  for (int i = 0; i < 100; ++i) {
    stream.session->OnMessage(HeartbeatMessage());
    stream.session->OnMessage(ProgressMessage(1));
    stream.session->OnMessage(v1::AgentMessage());
  }
  EXPECT_TRUE(stream.session->MayRead());
}

TEST_F(SessionWorkTest, AStrangerIsReadNoFurtherThanAnybodyElse) {
  StopWorker();
  Stream& stream = Open();
  stream.session->OnMessage(HelloMessage());
  for (uint64_t i = 1; i < AgentSession::kMostWaiting; ++i) stream.session->OnMessage(RecordsMessage(1, {i}));
  EXPECT_FALSE(stream.session->MayRead());
}

// C-181
TEST_F(SessionWorkTest, AHostOverItsQuotaIsNotReadUntilItIsWithinIt) {
  Stream& stream = OpenLive();
  stream.session->OnMessage(RecordsMessage(1, {1}, 1'000'000));  // an allowance of hours
  Flush();
  EXPECT_THAT(stream.kinds(), ElementsAre(Kind::kWelcome, Kind::kAck)) << "what is here is stored";
  EXPECT_FALSE(stream.session->MayRead());
  const int before = stream.port.resumes();
  stream.session->Tick(Now());
  EXPECT_EQ(stream.port.resumes(), before);
  quota_ns_ += 24 * 3600 * kSecond;
  stream.session->Tick(Now());
  EXPECT_TRUE(stream.session->MayRead());
  EXPECT_EQ(stream.port.resumes(), before + 1);
}

// Else a new stream would be a new allowance.
TEST_F(SessionWorkTest, AQuotaOutlastsTheSession) {
  Stream& first = OpenLive();
  first.session->OnMessage(RecordsMessage(1, {1}, 1'000'000));
  Flush();
  first.Detach();
  Flush();
  EXPECT_FALSE(OpenLive().session->MayRead());
}

// --- again, while the database is away (C-115) ---

TEST_F(SessionWorkTest, WhatTheDatabaseDidNotTakeIsDoneAgainInItsOrder) {
  Stream& stream = OpenLive();
  const absl::Status away = absl::UnavailableError("the database is away");
  runs_.Fail("*", away);
  hosts_.Fail("*", away);
  stream.session->OnMessage(AcceptedMessage(1));
  stream.session->OnMessage(AcceptedMessage(2));
  stream.session->OnMessage(RefusedMessage(3, false));
  stream.session->OnMessage(InventoryMessage());
  stream.session->OnMessage(StatusMessage("the spool is full"));
  Flush();
  EXPECT_TRUE(stream.session->MayRead());
  EXPECT_THAT(events_.Take(), IsEmpty());

  const int64_t now = Now();
  stream.session->Tick(now);
  Flush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 2) << "the first once more; none before it";
  stream.session->Tick(now + kSecond);
  Flush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 2) << "not each second";

  runs_.Fail("*", absl::OkStatus());
  hosts_.Fail("*", absl::OkStatus());
  stream.session->OnMessage(StatusMessage("the spool is fuller"));
  Flush();
  EXPECT_THAT(hosts_.host(kMac).statuses, IsEmpty()) << "news does not overtake what waits";
  stream.session->Tick(now + 2 * kSecond + 1);
  Flush();
  EXPECT_THAT(runs_.accepted(), ElementsAre(AttemptKey{1, 1}, AttemptKey{2, 1}));
  EXPECT_THAT(runs_.refused(), SizeIs(1));
  EXPECT_THAT(hosts_.host(kMac).inventories, SizeIs(1));
  ASSERT_THAT(hosts_.host(kMac).statuses, SizeIs(1)) << "of several only the newest";
  EXPECT_EQ(hosts_.host(kMac).statuses.back().refuses_tasks_because(), "the spool is fuller");
  EXPECT_THAT(events_.Take(), ElementsAre("ready", "refuses for 5m")) << "in their order";
  stream.session->Tick(now + 60 * kSecond);
  Flush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 4) << "done is done";
}

TEST_F(SessionWorkTest, WhatTheDatabaseRefusesIsNotDoneAgain) {
  Stream& stream = OpenLive();
  for (const absl::Status& status : {absl::InvalidArgumentError("no"), absl::NotFoundError("no"),
                                     absl::InternalError("no"), absl::FailedPreconditionError("no")}) {
    runs_.Fail("TaskAccepted", status);
    stream.session->OnMessage(AcceptedMessage(1));
    Flush();
  }
  stream.session->Tick(Now() + 10 * kSecond);
  Flush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 4);
  EXPECT_THAT(stream.port.finishes(), IsEmpty());
}

// The next session's hello says it all again.
TEST_F(SessionWorkTest, AnEndedSessionDoesNothingAgain) {
  for (const bool detached : {false, true}) {
    Stream& stream = OpenLive();
    runs_.Fail("TaskAccepted", absl::UnavailableError("the database is away"));
    stream.session->OnMessage(AcceptedMessage(1));
    Flush();
    const int calls = runs_.calls("TaskAccepted");
    stream.session->End({}, absl::AbortedError("moved"));
    if (detached) stream.Detach();
    stream.session->Tick(Now() + 3 * kSecond);
    Flush();
    EXPECT_EQ(runs_.calls("TaskAccepted"), calls);
    stream.Detach();
    Flush();
  }
}

// C-102: an agent that talks through a long outage does not fill the collector's memory.
TEST_F(SessionWorkTest, WhatIsToBeDoneAgainIsBounded) {
  Stream& stream = OpenLive();
  runs_.Fail("TaskAccepted", absl::UnavailableError("the database is away"));
  for (int i = 1; i <= 250; ++i) {
    stream.session->OnMessage(AcceptedMessage(i));
    if (i % 10 == 0) Flush();
  }
  Flush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 1);
  runs_.Fail("TaskAccepted", absl::OkStatus());
  stream.session->Tick(Now());
  Flush();
  EXPECT_THAT(runs_.accepted(), SizeIs(100));
}

// A database that keeps one waiting is not asked by more and more jobs.
TEST_F(SessionWorkTest, OneJobAtATimeDoesItAgain) {
  Stream& stream = OpenLive();
  runs_.Fail("TaskAccepted", absl::UnavailableError("the database is away"));
  stream.session->OnMessage(AcceptedMessage(1));
  Flush();
  StopWorker();
  const int64_t now = Now();
  for (int i = 1; i <= 5; ++i) stream.session->Tick(now + 3 * i * kSecond);
  OpenWorkerAndFlush();
  EXPECT_EQ(runs_.calls("TaskAccepted"), 2);
}

}  // namespace
}  // namespace fleetmark::collector
