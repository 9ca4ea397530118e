#include "collector/service/agent/admission.h"

#include <cmath>
#include <limits>

#include "tests/collector/service/agent/session_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

const absl::Time kArrival = absl::FromUnixSeconds(1'800'000'000);

class AdmissionTest : public SessionFixture {
 protected:
  Admission TryAdmit(const v1::Hello& hello = HelloOf(), const Peer& peer = PeerOfHost()) {
    return Admit(context_, peer, hello, kArrival);
  }
  Admitted MustAdmit(const v1::Hello& hello = HelloOf()) {
    Admission admission = TryAdmit(hello);
    const v1::Refusal* refusal = std::get_if<v1::Refusal>(&admission);
    EXPECT_EQ(refusal, nullptr) << refusal->ShortDebugString();
    return refusal == nullptr ? std::get<Admitted>(std::move(admission)) : Admitted();
  }
  // Refused, and without a trace: no claim, nothing recorded.
  v1::Refusal MustRefuse(const v1::Hello& hello = HelloOf(), const Peer& peer = PeerOfHost()) {
    const std::optional<Claimant> before = hosts_.host(kMac).claim;
    const Admission admission = TryAdmit(hello, peer);
    const v1::Refusal* refusal = std::get_if<v1::Refusal>(&admission);
    EXPECT_NE(refusal, nullptr) << "admitted";
    const std::optional<Claimant> after = hosts_.host(kMac).claim;
    EXPECT_EQ(after.has_value(), before.has_value());
    if (before && after) {
      EXPECT_EQ(after->session_id, before->session_id);
    }
    return refusal == nullptr ? v1::Refusal() : *refusal;
  }
};

TEST_F(AdmissionTest, AWelcomeSaysWhoIsThereAndWhatIsAgreed) {
  context_.heartbeat = absl::Seconds(7);
  context_.largest_batch_bytes = 1234;
  const Admitted admitted = MustAdmit();
  const v1::Welcome& welcome = admitted.welcome;
  EXPECT_EQ(welcome.protocol(), kProtocolMaximum);
  EXPECT_EQ(welcome.collector_version(), "2.0");
  EXPECT_EQ(welcome.collector_id(), "c1");
  EXPECT_EQ(welcome.unix_seconds(), 1.8e9);
  EXPECT_EQ(welcome.heartbeat_seconds(), 7);
  EXPECT_EQ(welcome.host_name(), "mac") << "the fleet's name, not the machine's own";
  EXPECT_EQ(welcome.largest_batch_bytes(), 1234U);
  EXPECT_EQ(admitted.claimant.collector_id, "c1");
  EXPECT_EQ(admitted.claimant.session_id, "s1");
  EXPECT_EQ(admitted.claimant.boot_id, "b1");
  EXPECT_EQ(hosts_.host(kMac).claim->session_id, "s1");
  EXPECT_EQ(hosts_.host(kMac).hello->agent_version(), "1.4");
}

TEST_F(AdmissionTest, UnfinishedTasksAreComparedWithTheRows) {
  v1::Hello hello = HelloOf();
  hello.add_unfinished()->set_task_id(3);
  RunStore::Reconciliation reconciliation;
  reconciliation.cancel.push_back({3, 1});
  reconciliation.start_again.emplace_back().set_task_id(4);
  runs_.SetReconciliation(reconciliation);
  const Admitted admitted = MustAdmit(hello);
  ASSERT_EQ(runs_.unfinished().size(), 1U);
  EXPECT_EQ(runs_.unfinished()[0].task_id(), 3);
  EXPECT_EQ(admitted.reconciliation.cancel, reconciliation.cancel);
  EXPECT_EQ(admitted.reconciliation.start_again.at(0).task_id(), 4);
}

// C-095: an agent whose spool's disk is away has not lost what the spool holds.
TEST_F(AdmissionTest, AnAgentThatCannotReadItsTasksLosesNone) {
  v1::Hello hello = HelloOf();
  hello.set_tasks_unknown(true);
  RunStore::Reconciliation disowning;
  disowning.start_again.emplace_back().set_task_id(4);
  runs_.SetReconciliation(disowning);
  EXPECT_THAT(MustAdmit(hello).reconciliation.start_again, ::testing::IsEmpty());
}

// C-123, C-129: the offset of a clock that was not told is unknown, not 0.
TEST_F(AdmissionTest, TheClocksOffsetIsWhatTheHelloSaysOrUnknown) {
  v1::Hello hello = HelloOf();
  hello.set_unix_seconds(1.8e9 - 90);
  MustAdmit(hello);
  EXPECT_EQ(hosts_.host(kMac).clock_offset, -90);
  hello.set_unix_seconds(60);  // 1970: no battery in this clock
  MustAdmit(hello);
  EXPECT_EQ(hosts_.host(kMac).clock_offset, 60 - 1.8e9);
  for (const double untold : {0.0, -5.0, std::numeric_limits<double>::quiet_NaN()}) {
    hello.set_unix_seconds(untold);
    MustAdmit(hello);
    EXPECT_TRUE(std::isnan(hosts_.host(kMac).clock_offset)) << untold;
  }
}

TEST_F(AdmissionTest, AnotherHostsIdentityIsRefusedNamingBoth) {
  const std::string other = "22222222-2222-4222-8222-222222222222";
  const v1::Refusal refusal = MustRefuse(HelloOf(), PeerOfHost(other));
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_NOT_A_HOST);
  EXPECT_THAT(refusal.message(), HasSubstr(kMac));
  EXPECT_THAT(refusal.message(), HasSubstr(other));
  EXPECT_THAT(refusal.message(), HasSubstr("fleetmark hosts invite"));
  EXPECT_EQ(hosts_.calls("IsRemoved"), 0) << "no question to the database for a stranger";
}

TEST_F(AdmissionTest, ACertificateThatIsNotAHostsIsRefused) {
  for (const IdentityKind kind : {IdentityKind::kPerson, IdentityKind::kCollector}) {
    Peer peer = PeerOfHost();
    peer.identity.kind = kind;  // with the host's very id
    EXPECT_EQ(MustRefuse(HelloOf(), peer).reason(), v1::REFUSAL_REASON_NOT_A_HOST);
  }
}

// C-128, C-146
TEST_F(AdmissionTest, WithoutACommonProtocolTheRefusalNamesBothAndWhichToUpgrade) {
  v1::Hello newer = HelloOf();
  newer.set_protocol_minimum(kProtocolMaximum + 1);
  newer.set_protocol_maximum(kProtocolMaximum + 3);
  v1::Refusal refusal = MustRefuse(newer);
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_PROTOCOL);
  for (const char* part : {"agent 1.4", "2 to 4", "collector 2.0", "1 to 1", "upgrade the collector"}) {
    EXPECT_THAT(refusal.message(), HasSubstr(part));
  }
  EXPECT_GE(refusal.retry_after_seconds(), 60) << "an upgrade takes its time";

  v1::Hello older = HelloOf();
  older.set_protocol_minimum(0);
  older.set_protocol_maximum(kProtocolMinimum - 1);
  refusal = MustRefuse(older);
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_PROTOCOL);
  EXPECT_THAT(refusal.message(), HasSubstr("upgrade the agent"));
}

// C-128
TEST_F(AdmissionTest, OfACommonRangeTheHighestIsTaken) {
  v1::Hello hello = HelloOf();
  hello.set_protocol_minimum(0);
  hello.set_protocol_maximum(kProtocolMaximum + 5);
  EXPECT_EQ(MustAdmit(hello).welcome.protocol(), kProtocolMaximum);
}

// C-180
TEST_F(AdmissionTest, ARemovedUnknownOrRevokedHostIsSentToEnrolAgain) {
  hosts_.Remove(kMac);
  v1::Refusal refusal = MustRefuse();
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_THAT(refusal.message(), HasSubstr("mac.local"));
  EXPECT_THAT(refusal.message(), HasSubstr("fleetmark hosts invite"));
  EXPECT_THAT(refusal.message(), HasSubstr("fleetmark-agent reset-id"));

  const std::string unknown = "33333333-3333-4333-8333-333333333333";
  EXPECT_EQ(MustRefuse(HelloOf(unknown), PeerOfHost(unknown)).reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_FALSE(hosts_.host(unknown).claim.has_value());

  const std::string known = "44444444-4444-4444-8444-444444444444";
  hosts_.AddHost(known, "pi");
  trust_.Revoke("serial-of-" + known);
  EXPECT_EQ(MustRefuse(HelloOf(known), PeerOfHost(known)).reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_FALSE(hosts_.host(known).claim.has_value());
}

// C-125
TEST_F(AdmissionTest, AnIdentityInUseIsRefusedNamingTheHolderAndTheWayOut) {
  hosts_.SetClaim(kMac, Claimant{"c9", "s9", "b9"});
  const v1::Refusal refusal = MustRefuse();
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_IDENTITY_IN_USE);
  for (const char* part : {"c9", "s9", "mac.local", kMac, "fleetmark-agent reset-id"}) {
    EXPECT_THAT(refusal.message(), HasSubstr(part));
  }
  EXPECT_TRUE(refusal.has_retry_after_seconds());
  EXPECT_FALSE(hosts_.host(kMac).hello.has_value()) << "the twin's hello must not replace the holder's";
}

TEST_F(AdmissionTest, ARestartedAgentOnTheSameMachineIsNoTwin) {
  hosts_.SetClaim(kMac, Claimant{"c9", "s9", "b1"});
  MustAdmit();
  EXPECT_EQ(hosts_.host(kMac).claim->collector_id, "c1");
}

// C-115, C-117: whichever question meets the outage, the agent keeps its results, comes back soon, and no claim is left
// behind that would keep it out.
TEST_F(AdmissionTest, WhileTheDatabaseIsAwayTheAgentIsToldToComeBack) {
  const absl::Status away = absl::UnavailableError("server closed the connection");
  for (const char* step : {"IsRemoved", "IsRevoked", "TakeClaim", "RecordHello", "Reconcile"}) {
    SCOPED_TRACE(step);
    hosts_.Fail(step, away);
    runs_.Fail(step, away);
    if (step == std::string("IsRevoked")) trust_.FailIsRevoked(away);
    const v1::Refusal refusal = MustRefuse();
    EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_OVERLOADED);
    EXPECT_THAT(refusal.message(), HasSubstr("server closed the connection"));
    EXPECT_THAT(refusal.message(), HasSubstr("keep your results"));
    EXPECT_GT(refusal.retry_after_seconds(), 0);
    EXPECT_LE(refusal.retry_after_seconds(), 30);
    hosts_.Fail(step, absl::OkStatus());
    runs_.Fail(step, absl::OkStatus());
    trust_.FailIsRevoked(absl::OkStatus());
  }
  MustAdmit();
}

// Gone for good in the middle: the claim runs out by itself, and the refusal is the same.
TEST_F(AdmissionTest, AClaimThatCannotBeGivenBackIsNoOtherRefusal) {
  hosts_.Fail("RecordHello", absl::UnavailableError("away"));
  hosts_.Fail("ReleaseClaim", absl::UnavailableError("still away"));
  const Admission admission = TryAdmit();
  ASSERT_TRUE(std::holds_alternative<v1::Refusal>(admission));
  EXPECT_EQ(std::get<v1::Refusal>(admission).reason(), v1::REFUSAL_REASON_OVERLOADED);
}

// Each reason has a code of its own, so that an agent too old to know the message can tell what lasts.
TEST_F(AdmissionTest, TheStreamEndsWithACodeThatFitsTheReason) {
  v1::Refusal refusal;
  refusal.set_message("why");
  const std::vector<std::pair<v1::RefusalReason, absl::StatusCode>> codes = {
      {v1::REFUSAL_REASON_IDENTITY_IN_USE, absl::StatusCode::kAlreadyExists},
      {v1::REFUSAL_REASON_PROTOCOL, absl::StatusCode::kFailedPrecondition},
      {v1::REFUSAL_REASON_REMOVED, absl::StatusCode::kPermissionDenied},
      {v1::REFUSAL_REASON_NOT_A_HOST, absl::StatusCode::kPermissionDenied},
      {v1::REFUSAL_REASON_OVERLOADED, absl::StatusCode::kUnavailable},
  };
  EXPECT_EQ(static_cast<int>(codes.size()), v1::RefusalReason_MAX) << "a new reason needs its code";
  for (const auto& [reason, code] : codes) {
    refusal.set_reason(reason);
    EXPECT_EQ(StatusOf(refusal).code(), code) << v1::RefusalReason_Name(reason);
    EXPECT_THAT(std::string(StatusOf(refusal).message()), HasSubstr("why"));
  }
}

}  // namespace
}  // namespace fleetmark::collector
