#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "collector/pki/authority.h"
#include "common/config/text_proto.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/time/fake_clock.h"
#include "fleetmark/v1/config.pb.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/fake_trust_store.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LocalAdminTest : public ::testing::Test {
 protected:
  absl::Status Write(const std::string& user = "anna",
                     const std::vector<std::string>& collectors = {"127.0.0.1:7401"}) {
    return authority_->WriteLocalAdmin(config_ / "fleetmark", user, collectors);
  }
  v1::ClientConfig Config() {
    v1::ClientConfig config;
    EXPECT_TRUE(LoadTextProto(config_ / "fleetmark/client.textproto", config).ok());
    return config;
  }
  TlsFiles Files() {
    const v1::ClientConfig config = Config();
    return {config.ca_file(), config.certificate_file(), config.key_file()};
  }

  FakeClock clock_;
  test::FakeTrustStore store_{clock_};
  const test::TempDirectory state_;
  const test::TempDirectory config_;
  std::unique_ptr<Authority> authority_ = Authority::Open(state_.path(), store_, clock_).value();
};

TEST_F(LocalAdminTest, WritesAWholeClientConfiguration) {
  ASSERT_TRUE(Write().ok());
  EXPECT_THAT(Config().collectors(), ElementsAre("127.0.0.1:7401"));
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(Files());
  ASSERT_TRUE(material.ok()) << material.status();
  const Identity anna{IdentityKind::kPerson, "anna", "admin"};
  EXPECT_EQ(IdentityOfCertificate(material->certificate_chain_pem).value(), anna);
  EXPECT_TRUE(DescribeCertificate(material->certificate_chain_pem)->may_connect);
  struct stat info {};
  ASSERT_EQ(::stat(Files().key_file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(store_.certificates().back().subject, ToUri(anna));
}

TEST_F(LocalAdminTest, KeepsWhatIsGoodAndRenewsWhatIsNot) {
  ASSERT_TRUE(Write().ok());
  const std::string key = ReadSmallFile(Files().key_file).value();
  ASSERT_TRUE(Write("anna", {"127.0.0.1:9"}).ok());
  EXPECT_THAT(Config().collectors(), ElementsAre("127.0.0.1:9")) << "the addresses are new";
  EXPECT_EQ(ReadSmallFile(Files().key_file).value(), key) << "the identity is kept";
  clock_.Advance(absl::Hours(24 * 350));
  ASSERT_TRUE(Write().ok());
  EXPECT_NE(ReadSmallFile(Files().key_file).value(), key);
  EXPECT_TRUE(LoadTlsMaterial(Files()).ok());
}

TEST_F(LocalAdminTest, LeavesTheConfigurationOfAnotherFleetAlone) {
  ASSERT_TRUE(Write().ok());
  const std::string key = ReadSmallFile(Files().key_file).value();
  const test::TempDirectory other_state;
  test::FakeTrustStore other_store(clock_);
  const auto other = Authority::Open(other_state.path(), other_store, clock_).value();
  const absl::Status status = other->WriteLocalAdmin(config_ / "fleetmark", "anna", {"127.0.0.1:1"});
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another fleet"));
  EXPECT_EQ(ReadSmallFile(Files().key_file).value(), key);
  EXPECT_THAT(Config().collectors(), ElementsAre("127.0.0.1:7401"));
}

TEST_F(LocalAdminTest, UserNamesOfOtherSystemsAreMadeFit) {
  ASSERT_TRUE(Write("DOMAIN\\anna b").ok());
  EXPECT_EQ(IdentityOfCertificate(ReadSmallFile(Files().certificate_file).value())->id, "DOMAIN_anna_b");
}

}  // namespace
}  // namespace fleetmark::collector
