#include "collector/service/enrollment/enrollment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/pki/certificate.h"
#include "common/pki/join_line.h"
#include "common/pki/random.h"
#include "common/time/fake_clock.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/fake_trust_store.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EnrollmentTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::CreateInviteResponse> Invite(v1::InviteKind kind, double valid_seconds = 3600) {
    v1::CreateInviteRequest request;
    request.set_kind(kind);
    request.set_valid_seconds(valid_seconds);
    if (kind == v1::INVITE_KIND_PERSON) {
      request.set_person_name("anna");
      request.set_role(v1::ROLE_VIEWER);
    }
    return enrollment_.CreateInvite(request, "person root");
  }
  std::string TokenFor(v1::InviteKind kind = v1::INVITE_KIND_HOST) {
    return ParseJoinLine(Invite(kind).value().join_line())->token;
  }
  v1::EnrollRequest Request(const std::string& token) {
    v1::EnrollRequest request;
    request.set_token(token);
    request.set_host_name("attic");
    request.set_certificate_request_der(PrivateKey::Generate()->MakeRequest().value());
    return request;
  }

  FakeClock clock_;
  test::FakeTrustStore store_{clock_};
  const test::TempDirectory state_;
  std::unique_ptr<Authority> authority_ = Authority::Open(state_.path(), store_, clock_).value();
  Enrollment enrollment_{*authority_,
                         store_,
                         {.hosts = {"10.0.0.2", "fd00::5", "nas.local"}, .enrollment_port = 7402, .main_port = 7401},
                         clock_};
};

TEST_F(EnrollmentTest, AnInviteHoldsAllThatAJoinerNeeds) {
  const absl::StatusOr<v1::CreateInviteResponse> invite = Invite(v1::INVITE_KIND_HOST);
  ASSERT_TRUE(invite.ok()) << invite.status();
  const absl::StatusOr<JoinLine> line = ParseJoinLine(invite->join_line());
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->hosts, ElementsAre("10.0.0.2", "fd00::5", "nas.local"));
  EXPECT_EQ(line->enrollment_port, 7402);
  EXPECT_EQ(line->main_port, 7401);
  EXPECT_EQ(line->ca_fingerprint_hex, authority_->ca_fingerprint_hex());
  EXPECT_EQ(invite->command(), "fleetmark-agent join " + invite->join_line());
  EXPECT_EQ(invite->expires_at_unix_seconds(), absl::ToDoubleSeconds(clock_.Now() - absl::UnixEpoch()) + 3600);
  // C-180: what the database holds is no token.
  EXPECT_THAT(store_.token_hashes(), ElementsAre(Sha256Hex(line->token)));
}

TEST_F(EnrollmentTest, EachKindHasItsCommand) {
  EXPECT_THAT(Invite(v1::INVITE_KIND_COLLECTOR)->command(), StartsWith("fleetmark-collector join fm1/"));
  EXPECT_THAT(Invite(v1::INVITE_KIND_PERSON)->command(), StartsWith("fleetmark login fm1/"));
}

TEST_F(EnrollmentTest, ExtraAddressesComeFirst) {
  v1::CreateInviteRequest request;
  request.add_extra_addresses("vpn.example.org");
  request.add_extra_addresses("[fd00::9]");
  const absl::StatusOr<v1::CreateInviteResponse> invite = enrollment_.CreateInvite(request, "x");
  ASSERT_TRUE(invite.ok()) << invite.status();
  EXPECT_THAT(ParseJoinLine(invite->join_line())->hosts,
              ElementsAre("vpn.example.org", "fd00::9", "10.0.0.2", "fd00::5", "nas.local"));
}

// C-176
TEST_F(EnrollmentTest, RefusesInvitesThatMakeNoSense) {
  for (const double valid :
       {0.0, -1.0, 59.0, 1e308, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Invite(v1::INVITE_KIND_HOST, valid).status())) << valid;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Invite(static_cast<v1::InviteKind>(7)).status()));
  v1::CreateInviteRequest person;
  person.set_kind(v1::INVITE_KIND_PERSON);
  person.set_person_name("anna");
  EXPECT_THAT(std::string(enrollment_.CreateInvite(person, "x").status().message()), HasSubstr("role"));
  person.set_role(v1::ROLE_ADMIN);
  person.set_person_name("anna\nroot");
  EXPECT_TRUE(absl::IsInvalidArgument(enrollment_.CreateInvite(person, "x").status()));
  for (const char* address : {"", "a b", "host:7401", "[fd00::5]:1", "$(reboot)", "https://x"}) {
    v1::CreateInviteRequest request;
    request.add_extra_addresses(address);
    EXPECT_TRUE(absl::IsInvalidArgument(enrollment_.CreateInvite(request, "x").status())) << address;
  }
  EXPECT_TRUE(store_.token_hashes().empty());
}

TEST_F(EnrollmentTest, AHostGetsItsCertificateAndTheAddresses) {
  const v1::EnrollRequest request = Request(TokenFor());
  const absl::StatusOr<v1::EnrollResponse> response = enrollment_.Enroll(request, "10.0.0.9");
  ASSERT_TRUE(response.ok()) << response.status();
  const Identity host{IdentityKind::kHost, response->host_id(), ""};
  EXPECT_EQ(IdentityOfCertificate(response->certificate_chain_pem()).value(), host);
  EXPECT_EQ(response->ca_certificate_pem(), authority_->ca_pem());
  EXPECT_TRUE(CheckSignedBy(response->certificate_chain_pem(), authority_->ca_pem()).ok());
  EXPECT_THAT(response->collector_addresses(), ElementsAre("10.0.0.2:7401", "[fd00::5]:7401", "nas.local:7401"));
}

TEST_F(EnrollmentTest, PeopleAndCollectorsGetTheirs) {
  const absl::StatusOr<v1::EnrollResponse> person = enrollment_.Enroll(Request(TokenFor(v1::INVITE_KIND_PERSON)), "p");
  ASSERT_TRUE(person.ok());
  EXPECT_EQ(ToUri(*IdentityOfCertificate(person->certificate_chain_pem())), "urn:fleetmark:person:viewer:anna");
  const absl::StatusOr<v1::EnrollResponse> collector =
      enrollment_.Enroll(Request(TokenFor(v1::INVITE_KIND_COLLECTOR)), "p");
  ASSERT_TRUE(collector.ok());
  EXPECT_EQ(IdentityOfCertificate(collector->certificate_chain_pem())->kind, IdentityKind::kCollector);
}

// C-180
TEST_F(EnrollmentTest, ATokenIsGoodOnceAndForItsTime) {
  const std::string token = TokenFor();
  ASSERT_TRUE(enrollment_.Enroll(Request(token), "p").ok());
  EXPECT_THAT(std::string(enrollment_.Enroll(Request(token), "p").status().message()), HasSubstr("used"));
  const std::string late = TokenFor();
  clock_.Advance(absl::Hours(2));
  const absl::Status expired = enrollment_.Enroll(Request(late), "p").status();
  EXPECT_TRUE(absl::IsPermissionDenied(expired));
  EXPECT_THAT(std::string(expired.message()), HasSubstr("expired"));
  EXPECT_THAT(std::string(enrollment_.Enroll(Request(RandomToken()), "p").status().message()), HasSubstr("unknown"));
}

TEST_F(EnrollmentTest, AMistakeDoesNotSpendTheToken) {
  const std::string token = TokenFor();
  v1::EnrollRequest wrong_kind = Request(token);
  wrong_kind.set_kind(v1::INVITE_KIND_COLLECTOR);
  const absl::Status status = enrollment_.Enroll(wrong_kind, "p").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("fleetmark-agent join"));
  v1::EnrollRequest broken = Request(token);
  broken.set_certificate_request_der("x");
  EXPECT_TRUE(absl::IsInvalidArgument(enrollment_.Enroll(broken, "p").status()));
  EXPECT_TRUE(enrollment_.Enroll(Request(token), "p").ok());
}

TEST_F(EnrollmentTest, GuessingIsBoundedWithoutAskingTheDatabase) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(absl::IsPermissionDenied(enrollment_.Enroll(Request(RandomToken()), "thief").status()));
  }
  const int calls = store_.enroll_calls();
  const std::string token = TokenFor();
  EXPECT_TRUE(absl::IsResourceExhausted(enrollment_.Enroll(Request(token), "thief").status()));
  EXPECT_EQ(store_.enroll_calls(), calls);
  EXPECT_TRUE(enrollment_.Enroll(Request(token), "honest").ok());
}

TEST_F(EnrollmentTest, TheDatabasesTroubleIsNotTheJoinersGuess) {
  store_.SetDown(absl::UnavailableError("the database is not there"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(enrollment_.Enroll(Request(RandomToken()), "p").status()));
  }
}

}  // namespace
}  // namespace fleetmark::collector
