#include "common/pki/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/pki/files.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

using test::TestFleet;
using ::testing::HasSubstr;

class TlsFilesTest : public ::testing::Test {
 protected:
  void Write(const TlsMaterial& material) {
    ASSERT_TRUE(ReplaceFile(files_.ca_file, material.ca_pem, 0644).ok());
    ASSERT_TRUE(ReplaceFile(files_.certificate_file, material.certificate_chain_pem, 0644).ok());
    ASSERT_TRUE(ReplaceFile(files_.key_file, material.key_pem, 0600).ok());
  }

  const test::TempDirectory directory_;
  const TlsFiles files_{directory_ / "ca.pem", directory_ / "cert.pem", directory_ / "key"};
  const TestFleet fleet_;
};

TEST_F(TlsFilesTest, LoadsWhatBelongsTogether) {
  const TlsMaterial host = fleet_.Host();
  Write(host);
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files_);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->key_pem, host.key_pem);
  EXPECT_EQ(material->certificate_chain_pem, host.certificate_chain_pem);
  EXPECT_EQ(material->ca_pem, fleet_.ca_pem());
}

// C-180
TEST_F(TlsFilesTest, RefusesAKeyThatOthersCanRead) {
  Write(fleet_.Host());
  ASSERT_EQ(::chmod(files_.key_file.c_str(), 0644), 0);
  const absl::Status status = LoadTlsMaterial(files_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600 " + files_.key_file));
}

TEST_F(TlsFilesTest, RefusesPartsOfDifferentIdentities) {
  TlsMaterial mixed = fleet_.Host();
  mixed.key_pem = fleet_.Host().key_pem;
  Write(mixed);
  EXPECT_TRUE(absl::IsFailedPrecondition(LoadTlsMaterial(files_).status()));

  TlsMaterial foreign = fleet_.Host();
  foreign.ca_pem = TestFleet().ca_pem();
  Write(foreign);
  EXPECT_THAT(std::string(LoadTlsMaterial(files_).status().message()), HasSubstr("not signed by this CA"));
}

TEST_F(TlsFilesTest, NamesTheFileThatIsMissingOrBroken) {
  EXPECT_TRUE(absl::IsNotFound(LoadTlsMaterial(files_).status()));
  TlsMaterial broken = fleet_.Host();
  broken.certificate_chain_pem = "nonsense";
  Write(broken);
  EXPECT_THAT(std::string(LoadTlsMaterial(files_).status().message()), HasSubstr(files_.certificate_file));
}

// C-145: the peer's refusal would say nothing.
TEST_F(TlsFilesTest, AnExpiredCertificateIsSeenLocallyWithBothTimes) {
  const absl::Time end = absl::FromUnixSeconds(1'800'000'000);
  const TlsMaterial host = fleet_.Host(end);
  EXPECT_EQ(ExpiryOf(host).value(), end);
  EXPECT_TRUE(CheckValidity(host, end - absl::Seconds(1)).ok());
  const absl::Status status = CheckValidity(host, end + absl::Hours(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("2027-01-15 08:00:00 UTC"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("2027-01-15 09:00:00 UTC"));
}

// C-144: boards without a clock start in 1970, or where they were switched off.
TEST_F(TlsFilesTest, AClockThatIsBehindIsNoProblem) {
  const TlsMaterial host = fleet_.Host();
  EXPECT_TRUE(CheckValidity(host, absl::FromUnixSeconds(0)).ok());
  EXPECT_TRUE(CheckValidity(host, absl::FromUnixSeconds(1'000'000'000)).ok());
  EXPECT_THAT(std::string(CheckValidity(host, absl::FromUnixSeconds(-10)).message()), HasSubstr("set the clock"));
}

TEST_F(TlsFilesTest, AsksForRenewalThirtyDaysAhead) {
  const absl::Time end = absl::FromUnixSeconds(1'800'000'000);
  const TlsMaterial host = fleet_.Host(end);
  EXPECT_FALSE(NeedsRenewal(host, end - absl::Hours(24 * 31)));
  EXPECT_TRUE(NeedsRenewal(host, end - absl::Hours(24 * 29)));
}

}  // namespace
}  // namespace fleetmark
