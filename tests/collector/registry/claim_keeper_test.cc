#include "collector/registry/claim_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/collector/fake_host_store.h"
#include "tests/support/collector/recording_link.h"

namespace fleetmark::collector {
namespace {

using test::FakeHostStore;
using test::RecordingLink;
using ::testing::HasSubstr;

class ClaimKeeperTest : public ::testing::Test {
 protected:
  // A host with a session here, whose claim `collector` holds.
  std::shared_ptr<RecordingLink> Connect(const HostId& host, const std::string& collector) {
    hosts_.AddHost(host, host);
    hosts_.SetClaim(host, Claimant{collector, "session", "boot"});
    auto link = std::make_shared<RecordingLink>();
    registry_.Add(host, link);
    return link;
  }

  FakeHostStore hosts_;
  AgentRegistry registry_;
  ClaimKeeper keeper_{hosts_, registry_, "c1", absl::Milliseconds(5)};
};

TEST_F(ClaimKeeperTest, NobodyConnectedIsNoQuestionToTheDatabase) {
  EXPECT_TRUE(keeper_.RenewAll().ok());
  EXPECT_EQ(hosts_.calls("RenewClaims"), 0);
}

TEST_F(ClaimKeeperTest, WhatIsStillOursGoesOn) {
  const auto mac = Connect("mac", "c1");
  const auto pi = Connect("pi", "c1");
  EXPECT_TRUE(keeper_.RenewAll().ok());
  EXPECT_EQ(hosts_.calls("RenewClaims"), 1) << "one question for all hosts";
  EXPECT_FALSE(mac->end().has_value());
  EXPECT_FALSE(pi->end().has_value());
}

// C-130: the agent has gone to another collector; what is left here is its old stream.
TEST_F(ClaimKeeperTest, ALostClaimEndsTheSessionOfThatHostOnly) {
  const auto mac = Connect("mac", "c1");
  const auto pi = Connect("pi", "c2");
  EXPECT_TRUE(keeper_.RenewAll().ok());
  EXPECT_FALSE(mac->end().has_value());
  ASSERT_TRUE(pi->end().has_value());
  EXPECT_EQ(pi->end()->status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(pi->end()->refusal.reason(), v1::REFUSAL_REASON_UNSPECIFIED) << "it may come back at once";
}

// C-180
TEST_F(ClaimKeeperTest, ARemovedHostIsToldThatItWasRemoved) {
  const auto mac = Connect("mac", "c1");
  hosts_.Remove("mac");
  EXPECT_TRUE(keeper_.RenewAll().ok());
  ASSERT_TRUE(mac->end().has_value());
  EXPECT_EQ(mac->end()->refusal.reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_THAT(mac->end()->refusal.message(), HasSubstr("fleetmark hosts invite"));
  EXPECT_THAT(mac->end()->refusal.message(), HasSubstr("fleetmark-agent reset-id"));
  EXPECT_EQ(mac->end()->status.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(ClaimKeeperTest, EndIfRemovedLooksBeforeItEnds) {
  const auto mac = Connect("mac", "c1");
  keeper_.EndIfRemoved("pi");
  EXPECT_EQ(hosts_.calls("IsRemoved"), 0) << "not connected here: another collector's affair";
  keeper_.EndIfRemoved("mac");
  EXPECT_FALSE(mac->end().has_value());
  hosts_.Remove("mac");
  hosts_.Fail("IsRemoved", absl::UnavailableError("the database is away"));
  keeper_.EndIfRemoved("mac");
  EXPECT_FALSE(mac->end().has_value());
  hosts_.Fail("IsRemoved", absl::OkStatus());
  keeper_.EndIfRemoved("mac");
  EXPECT_TRUE(mac->end().has_value());
}

// C-117: an outage ends no session; a claim that nobody else took is still ours afterwards.
TEST_F(ClaimKeeperTest, WhileTheDatabaseIsAwayNothingEnds) {
  const auto mac = Connect("mac", "c1");
  const auto pi = Connect("pi", "c1");
  hosts_.Fail("RenewClaims", absl::UnavailableError("the database is away"));
  EXPECT_EQ(keeper_.RenewAll().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(mac->end().has_value());
  hosts_.SetClaim("pi", Claimant{"c2", "other", "other"});
  hosts_.Fail("RenewClaims", absl::OkStatus());
  EXPECT_TRUE(keeper_.RenewAll().ok());
  EXPECT_FALSE(mac->end().has_value());
  EXPECT_TRUE(pi->end().has_value());
}

// It went away just between the two questions: the claim is lost for sure, why is not known.
TEST_F(ClaimKeeperTest, ALostClaimWhoseReasonCannotBeReadEndsTheSessionAllTheSame) {
  const auto mac = Connect("mac", "c2");
  hosts_.Fail("IsRemoved", absl::UnavailableError("the database is away"));
  EXPECT_TRUE(keeper_.RenewAll().ok());
  ASSERT_TRUE(mac->end().has_value());
  EXPECT_EQ(mac->end()->refusal.reason(), v1::REFUSAL_REASON_UNSPECIFIED);
}

TEST_F(ClaimKeeperTest, ItsThreadRenewsAgainAndAgainAlsoAfterAnOutageWithOneLineOfLog) {
  const auto mac = Connect("mac", "c1");
  ::testing::internal::CaptureStderr();
  hosts_.Fail("RenewClaims", absl::UnavailableError("the database is away"));
  keeper_.Start();
  const bool tried = hosts_.AwaitCalls("RenewClaims", 4);
  hosts_.Fail("RenewClaims", absl::OkStatus());
  const bool renewed = hosts_.AwaitCalls("RenewClaims", 3);
  hosts_.Remove("mac");
  const bool ended = hosts_.Await([&] { return mac->end().has_value(); });
  keeper_.Shutdown();
  keeper_.Shutdown();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(tried);
  EXPECT_TRUE(renewed);
  EXPECT_TRUE(ended);
  const size_t first = log.find("renew claims");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("renew claims", first + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace fleetmark::collector
