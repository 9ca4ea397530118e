// key, issue, certificate and identity together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <set>

#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/pki/issue.h"
#include "common/pki/openssl_pointers.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

using test::TestFleet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kUuid = "0f0e0d0c-1111-4222-8333-444455556666";

TEST(KeyTest, SurvivesItsPem) {
  const PrivateKey key = PrivateKey::Generate().value();
  EXPECT_THAT(key.ToPem(), HasSubstr("BEGIN PRIVATE KEY"));
  const absl::StatusOr<PrivateKey> again = PrivateKey::FromPem(key.ToPem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToPem(), key.ToPem());
}

TEST(KeyTest, RefusesWhatIsNoKey) {
  EXPECT_FALSE(PrivateKey::FromPem("").ok());
  EXPECT_FALSE(PrivateKey::FromPem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").ok());
}

TEST(IssueTest, MakesAnAuthorityThatMaySignLeavesOnly) {
  const TestFleet fleet;
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(fleet.ca_pem());
  ASSERT_TRUE(info.ok());
  EXPECT_TRUE(info->is_ca);
  EXPECT_FALSE(info->may_serve);
  EXPECT_EQ(info->not_before, absl::UnixEpoch());
  const X509Ptr ca = ParseCertificate(fleet.ca_pem());
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0);
  EXPECT_EQ(X509_get_key_usage(ca.get()), uint32_t{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
}

// C-144: a machine whose clock is behind can use a certificate made today.
TEST(IssueTest, CollectorServesUnderOneNameAndDoesNotConnect) {
  const TestFleet fleet;
  const TlsMaterial material = fleet.Make({IdentityKind::kCollector, kUuid, ""});
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(material.certificate_chain_pem);
  ASSERT_TRUE(info.ok());
  EXPECT_TRUE(info->may_serve);
  EXPECT_FALSE(info->may_connect);
  EXPECT_FALSE(info->is_ca);
  EXPECT_EQ(info->not_before, absl::UnixEpoch());
  EXPECT_THAT(info->dns_names, ElementsAre("collector.fleetmark.internal"));
  EXPECT_THAT(info->uri_names, ElementsAre(std::string("urn:fleetmark:collector:") + kUuid));
  EXPECT_EQ(SplitChain(material.certificate_chain_pem).value().size(), 2U) << "the CA is presented as well";
}

TEST(IssueTest, HostsAndPeopleConnectAndDoNotServe) {
  const TestFleet fleet;
  for (const Identity& identity :
       {Identity{IdentityKind::kHost, kUuid, ""}, Identity{IdentityKind::kPerson, "anna", "operator"}}) {
    const TlsMaterial material = fleet.Make(identity);
    const absl::StatusOr<CertificateInfo> info = DescribeCertificate(material.certificate_chain_pem);
    ASSERT_TRUE(info.ok());
    EXPECT_TRUE(info->may_connect);
    EXPECT_FALSE(info->may_serve);
    EXPECT_THAT(info->dns_names, IsEmpty());
    EXPECT_EQ(IdentityOfCertificate(material.certificate_chain_pem).value(), identity);
  }
}

TEST(IssueTest, SerialsAreRandomAndOf128Bits) {
  const TestFleet fleet;
  std::set<std::string> serials;
  for (int i = 0; i < 20; ++i) {
    const std::string serial = DescribeCertificate(fleet.Host().certificate_chain_pem)->serial_hex;
    EXPECT_EQ(serial.size(), 32U);
    EXPECT_TRUE(serials.insert(serial).second);
  }
}

TEST(IssueTest, RefusesNamesThatCouldBecomeOthers) {
  const TestFleet fleet;
  const PrivateKey ca_key = PrivateKey::Generate().value();
  const std::string request = PrivateKey::Generate()->MakeRequest().value();
  for (const Identity& identity :
       {Identity{IdentityKind::kHost, "x,DNS:collector.fleetmark.internal", ""}, Identity{IdentityKind::kHost, "", ""},
        Identity{IdentityKind::kPerson, "a:b", "admin"}, Identity{IdentityKind::kPerson, "anna", "root"},
        Identity{IdentityKind::kHost, kUuid, "admin"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        IssueLeaf(ca_key, fleet.ca_pem(), request, identity, absl::Now() + absl::Hours(1)).status()))
        << ToUri(identity);
  }
}

std::string WeakRequest() {
  const PkeyPtr key(EVP_RSA_gen(1024));
  const X509ReqPtr request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), key.get());
  X509_REQ_sign(request.get(), key.get(), EVP_sha256());
  unsigned char* der = nullptr;
  const int size = i2d_X509_REQ(request.get(), &der);
  std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

TEST(IssueTest, RefusesBadRequests) {
  const TestFleet fleet;
  const PrivateKey ca_key = PrivateKey::Generate().value();
  const std::string good = PrivateKey::Generate()->MakeRequest().value();
  std::string forged = good;
  forged.back() = static_cast<char>(forged.back() ^ 1);
  for (const std::string& request : {std::string(), std::string("x"), good.substr(0, good.size() / 2), forged,
                                     std::string(100'000, '\x30'), WeakRequest()}) {
    const absl::Status status =
        IssueLeaf(ca_key, fleet.ca_pem(), request, {IdentityKind::kHost, kUuid, ""}, absl::Now()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST(CertificateTest, KnowsWhoSigned) {
  const TestFleet fleet;
  const TestFleet other;
  const TlsMaterial host = fleet.Host();
  EXPECT_TRUE(CheckSignedBy(host.certificate_chain_pem, fleet.ca_pem()).ok());
  EXPECT_FALSE(CheckSignedBy(host.certificate_chain_pem, other.ca_pem()).ok());
  EXPECT_FALSE(CheckSignedBy(host.certificate_chain_pem, host.certificate_chain_pem).ok()) << "a leaf is no CA";
}

TEST(CertificateTest, KnowsItsKey) {
  const TestFleet fleet;
  const TlsMaterial host = fleet.Host();
  EXPECT_TRUE(CheckKeyMatches(host.certificate_chain_pem, PrivateKey::FromPem(host.key_pem).value()).ok());
  EXPECT_FALSE(CheckKeyMatches(host.certificate_chain_pem, PrivateKey::Generate().value()).ok());
}

TEST(CertificateTest, FingerprintIsTheHashOfTheDer) {
  const TestFleet fleet;
  const std::string der = PemToDer(fleet.ca_pem()).value();
  EXPECT_EQ(fleet.fingerprint_hex(), Sha256Hex(der));
  EXPECT_EQ(DerToPem(der).value(), fleet.ca_pem());
  EXPECT_FALSE(DerToPem(der + "x").ok());
}

TEST(CertificateTest, RefusesBrokenChains) {
  const TestFleet fleet;
  EXPECT_FALSE(SplitChain("").ok());
  EXPECT_FALSE(SplitChain(fleet.ca_pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").ok());
  EXPECT_EQ(SplitChain("comment\n" + fleet.ca_pem() + fleet.ca_pem()).value().size(), 2U);
}

TEST(IdentityTest, ReadsBackItsThreeForms) {
  for (const std::string& uri :
       {std::string("urn:fleetmark:host:") + kUuid, std::string("urn:fleetmark:collector:") + kUuid,
        std::string("urn:fleetmark:person:viewer:anna.b-c_1")}) {
    const absl::StatusOr<Identity> identity = ParseIdentityUri(uri);
    ASSERT_TRUE(identity.ok()) << uri;
    EXPECT_EQ(ToUri(*identity), uri);
  }
}

TEST(IdentityTest, RefusesEverythingElse) {
  for (const char* uri :
       {"", "urn:fleetmark:host:", "urn:fleetmark:host:x", "urn:fleetmark:host:0F0E0D0C-1111-4222-8333-444455556666",
        "urn:fleetmark:person:admin:", "urn:fleetmark:person:root:anna", "urn:fleetmark:person:admin:a:b",
        "urn:fleetmark:person:admin:a b", "URN:fleetmark:person:admin:a", "urn:other:person:admin:a",
        "urn:fleetmark:robot:x"}) {
    EXPECT_FALSE(ParseIdentityUri(uri).ok()) << uri;
  }
}

}  // namespace
}  // namespace fleetmark
