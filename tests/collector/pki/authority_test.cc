#include "collector/pki/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/time/fake_clock.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/fake_trust_store.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark::collector {
namespace {

using test::FakeTrustStore;
using test::TempDirectory;
using ::testing::HasSubstr;

class AuthorityTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Authority>> Open(const TempDirectory& directory) {
    return Authority::Open(directory.path(), store_, clock_);
  }
  std::string Request() { return PrivateKey::Generate()->MakeRequest().value(); }

  FakeClock clock_;
  FakeTrustStore store_{clock_};
  const TempDirectory directory_;
};

TEST_F(AuthorityTest, TheFirstCollectorMakesTheAuthority) {
  const auto authority = Open(directory_);
  ASSERT_TRUE(authority.ok()) << authority.status();
  EXPECT_TRUE((*authority)->can_sign());
  EXPECT_EQ(store_.GetAuthority().value(), (*authority)->ca_pem());
  EXPECT_TRUE(IsUuid((*authority)->collector_id()));

  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "pki/ca.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const absl::StatusOr<TlsMaterial> server = LoadTlsMaterial((*authority)->server_files());
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::StatusOr<CertificateInfo> certificate = DescribeCertificate(server->certificate_chain_pem);
  EXPECT_TRUE(certificate->may_serve);
  EXPECT_EQ(certificate->uri_names.front(), "urn:fleetmark:collector:" + (*authority)->collector_id());
  ASSERT_EQ(store_.certificates().size(), 1U);
  EXPECT_EQ(store_.certificates()[0].serial_hex, certificate->serial_hex);
}

TEST_F(AuthorityTest, LaterStartsFindEverythingAsItWas) {
  const auto first = Open(directory_);
  ASSERT_TRUE(first.ok());
  const auto second = Open(directory_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->ca_fingerprint_hex(), (*first)->ca_fingerprint_hex());
  EXPECT_EQ((*second)->collector_id(), (*first)->collector_id());
  EXPECT_TRUE((*second)->can_sign());
  EXPECT_EQ(store_.certificates().size(), 1U) << "nothing was issued anew";
}

TEST_F(AuthorityTest, AFirstStartThatWasCutOffIsFinished) {
  ASSERT_TRUE(Open(directory_).ok());
  const std::vector<std::vector<const char*>> cuts = {
      {"pki/server.pem"}, {"pki/server.pem", "pki/server.key"}, {"pki/server.pem", "pki/server.key", "pki/ca.pem"}};
  for (const std::vector<const char*>& lost : cuts) {
    for (const char* file : lost) ASSERT_EQ(::unlink((directory_ / file).c_str()), 0) << file;
    const auto again = Open(directory_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(LoadTlsMaterial((*again)->server_files()).ok());
  }
}

TEST_F(AuthorityTest, AKeyWithoutItsCertificateIsTakenUpAgain) {
  ASSERT_TRUE(Open(directory_).ok());
  for (const char* file : {"pki/server.pem", "pki/server.key", "pki/ca.pem"}) {
    ASSERT_EQ(::unlink((directory_ / file).c_str()), 0);
  }
  const std::string key = ReadSmallFile(directory_ / "pki/ca.key").value();
  FakeTrustStore empty(clock_);
  const auto again = Authority::Open(directory_.path(), empty, clock_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->can_sign());
  EXPECT_EQ(ReadSmallFile(directory_ / "pki/ca.key").value(), key);
}

TEST_F(AuthorityTest, AnEmptiedDatabaseGetsTheSameAuthority) {
  const std::string fingerprint = (*Open(directory_))->ca_fingerprint_hex();
  FakeTrustStore empty(clock_);
  const auto again = Authority::Open(directory_.path(), empty, clock_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->ca_fingerprint_hex(), fingerprint);
  EXPECT_EQ(empty.GetAuthority().value(), (*again)->ca_pem());
}

TEST_F(AuthorityTest, ASecondCollectorMustJoin) {
  ASSERT_TRUE(Open(directory_).ok());
  const TempDirectory other;
  const absl::Status status = Open(other).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("fleetmark-collector join"));
  EXPECT_FALSE(FileExists(other / "pki/ca.key"));
}

TEST_F(AuthorityTest, OfTwoFirstStartsOneWins) {
  const TempDirectory other;
  FakeTrustStore elsewhere(clock_);
  const std::string winner = (*Authority::Open(other.path(), elsewhere, clock_))->ca_pem();
  store_.BeatTo(winner);
  const absl::Status status = Open(directory_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_FALSE(FileExists(directory_ / "pki/ca.key")) << "the loser's key is of no use and must not look like one";
  EXPECT_EQ(store_.GetAuthority().value(), winner);
}

TEST_F(AuthorityTest, AJoinedCollectorServesButDoesNotSign) {
  const auto first = Open(directory_);
  ASSERT_TRUE(first.ok());
  const TempDirectory other;
  const PrivateKey key = PrivateKey::Generate().value();
  const std::string id = NewUuid();
  const absl::StatusOr<IssuedCertificate> issued =
      (*first)->Sign({IdentityKind::kCollector, id, ""}, key.MakeRequest().value());
  ASSERT_TRUE(issued.ok());
  const TlsFiles files = ServerFiles(other.path());
  ASSERT_TRUE(MakePrivateDirectory(other / "pki").ok());
  ASSERT_TRUE(ReplaceFile(files.ca_file, (*first)->ca_pem(), 0644).ok());
  ASSERT_TRUE(ReplaceFile(files.key_file, key.ToPem(), 0600).ok());
  ASSERT_TRUE(ReplaceFile(files.certificate_file, issued->pem, 0644).ok());

  const auto second = Open(other);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->collector_id(), id);
  EXPECT_FALSE((*second)->can_sign());
  EXPECT_TRUE(absl::IsFailedPrecondition((*second)->Sign({IdentityKind::kHost, NewUuid(), ""}, Request()).status()));
  EXPECT_FALSE((*second)->RenewServerCertificate().value());

  clock_.Advance(absl::Hours(24 * 400));
  EXPECT_TRUE(absl::IsFailedPrecondition(Open(other).status())) << "expired, and nothing can be done here";
}

TEST_F(AuthorityTest, RefusesTheStateOfAnotherFleet) {
  const TempDirectory other;
  FakeTrustStore elsewhere(clock_);
  ASSERT_TRUE(Authority::Open(other.path(), elsewhere, clock_).ok());
  ASSERT_TRUE(Open(directory_).ok());
  const absl::Status status = Open(other).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another fleet's CA"));
}

// C-180
TEST_F(AuthorityTest, RefusesAnAuthorityKeyThatOthersCanRead) {
  ASSERT_TRUE(Open(directory_).ok());
  ASSERT_EQ(::chmod((directory_ / "pki/ca.key").c_str(), 0644), 0);
  const absl::Status status = Open(directory_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600"));
}

TEST_F(AuthorityTest, RenewsItsServingCertificateWithTheSameKey) {
  const auto authority = Open(directory_);
  ASSERT_TRUE(authority.ok());
  const TlsMaterial before = LoadTlsMaterial((*authority)->server_files()).value();
  EXPECT_FALSE((*authority)->RenewServerCertificate().value());
  clock_.Advance(absl::Hours(24 * 340));
  EXPECT_TRUE((*authority)->RenewServerCertificate().value());
  const TlsMaterial after = LoadTlsMaterial((*authority)->server_files()).value();
  EXPECT_EQ(after.key_pem, before.key_pem);
  EXPECT_GT(ExpiryOf(after).value(), ExpiryOf(before).value());
  EXPECT_EQ(IdentityOfCertificate(after.certificate_chain_pem).value(),
            IdentityOfCertificate(before.certificate_chain_pem).value());
  EXPECT_EQ(store_.certificates().size(), 2U);
  EXPECT_FALSE((*authority)->RenewServerCertificate().value());
}

TEST_F(AuthorityTest, RenewsAPeersCertificateAndRecordsIt) {
  const auto authority = Open(directory_);
  ASSERT_TRUE(authority.ok());
  const Identity host{IdentityKind::kHost, NewUuid(), ""};
  const absl::StatusOr<IssuedCertificate> issued = (*authority)->RenewCertificate(host, Request(), "host x");
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_EQ(issued->subject, ToUri(host));
  EXPECT_EQ(store_.certificates().back().serial_hex, issued->serial_hex);
  EXPECT_TRUE(absl::IsInvalidArgument((*authority)->RenewCertificate(host, "nonsense", "host x").status()));
  store_.SetDown(absl::UnavailableError("database down"));
  EXPECT_TRUE(absl::IsUnavailable((*authority)->RenewCertificate(host, Request(), "host x").status()))
      << "a certificate that is not on record is not given out";
}

}  // namespace
}  // namespace fleetmark::collector
