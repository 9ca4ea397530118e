#include <atomic>
#include <thread>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

IssuedCertificate CertificateFor(const std::string& serial, const std::string& subject) {
  return {serial, subject, "PEM", absl::Now() + absl::Hours(24)};
}

std::string Token(char c) { return std::string(64, c); }

TEST_F(StoreTest, TheFirstAuthorityStays) {
  EXPECT_EQ(store_->trust().GetAuthority().status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->trust().PutAuthority("CA one").ok());
  ASSERT_TRUE(store_->trust().PutAuthority("CA one").ok());
  EXPECT_EQ(store_->trust().PutAuthority("CA two").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*store_->trust().GetAuthority(), "CA one");
}

TEST_F(StoreTest, ATokenWorksOnceAndSaysWhyItDoesNot) {
  const auto sign = [&](const TokenGrant&, const std::string& id) -> absl::StatusOr<IssuedCertificate> {
    return CertificateFor("s-" + id, "urn:fleetmark:host:" + id);
  };
  const TokenGrant host{v1::INVITE_KIND_HOST, "", v1::ROLE_UNSPECIFIED};
  ASSERT_TRUE(store_->trust().AddToken(Token('a'), host, absl::Now() + absl::Hours(1), "alice").ok());
  ASSERT_TRUE(store_->trust().AddToken(Token('b'), host, absl::Now() - absl::Seconds(1), "alice").ok());
  const auto enrolled = store_->trust().Enroll(Token('a'), "pi", sign);
  ASSERT_TRUE(enrolled.ok()) << enrolled.status();
  EXPECT_EQ(enrolled->name, "pi");
  EXPECT_EQ(enrolled->id.size(), 36U);
  EXPECT_EQ(enrolled->certificate.serial_hex, "s-" + enrolled->id);
  const auto why = [&](char token) {
    const absl::Status status = store_->trust().Enroll(Token(token), "pi", sign).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    return std::string(status.message());
  };
  EXPECT_THAT(why('a'), HasSubstr("used"));
  EXPECT_THAT(why('b'), HasSubstr("expired"));
  EXPECT_THAT(why('c'), HasSubstr("unknown"));
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.host"), "1");
}

TEST_F(StoreTest, ATokenIsNotUsedUpIfSigningFails) {
  const TokenGrant host{v1::INVITE_KIND_HOST, "", v1::ROLE_UNSPECIFIED};
  ASSERT_TRUE(store_->trust().AddToken(Token('a'), host, absl::Now() + absl::Hours(1), "alice").ok());
  const auto failing = [](const TokenGrant&, const std::string&) -> absl::StatusOr<IssuedCertificate> {
    return absl::InvalidArgumentError("bad request");
  };
  EXPECT_EQ(store_->trust().Enroll(Token('a'), "pi", failing).status(), absl::InvalidArgumentError("bad request"));
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.host"), "0");
  EXPECT_TRUE(store_->trust()
                  .Enroll(Token('a'), "pi",
                          [](const TokenGrant&, const std::string& id) -> absl::StatusOr<IssuedCertificate> {
                            return CertificateFor("s", id);
                          })
                  .ok());
}

// C-126: many of one name join at once; each gets its own.
TEST_F(StoreTest, HostsOfOneNameGetUniqueNames) {
  std::vector<std::thread> threads;
  std::atomic<int> joined{0};
  const TokenGrant host{v1::INVITE_KIND_HOST, "", v1::ROLE_UNSPECIFIED};
  for (char c = 'a'; c < 'e'; ++c) {
    ASSERT_TRUE(store_->trust().AddToken(Token(c), host, absl::Now() + absl::Hours(1), "alice").ok());
  }
  for (char c = 'a'; c < 'e'; ++c) {
    threads.emplace_back([&, c] {
      joined += store_->trust()
                    .Enroll(Token(c), std::string("raspberrypi\0", 12),
                            [&](const TokenGrant&, const std::string& id) -> absl::StatusOr<IssuedCertificate> {
                              return CertificateFor("s-" + id, id);
                            })
                    .ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(joined, 4);
  EXPECT_EQ(Value("SELECT string_agg(name, ' ' ORDER BY name) FROM fleetmark.host"),
            "raspberrypi raspberrypi-2 raspberrypi-3 raspberrypi-4");
}

TEST_F(StoreTest, PeopleAndCollectorsJoinWithTheirOwnKind) {
  ASSERT_TRUE(store_->trust()
                  .AddToken(Token('p'), {v1::INVITE_KIND_PERSON, "bob", v1::ROLE_OPERATOR},
                            absl::Now() + absl::Hours(1), "alice")
                  .ok());
  ASSERT_TRUE(store_->trust()
                  .AddToken(Token('c'), {v1::INVITE_KIND_COLLECTOR, "", v1::ROLE_UNSPECIFIED},
                            absl::Now() + absl::Hours(1), "alice")
                  .ok());
  const auto sign = [](const TokenGrant& grant, const std::string& id) -> absl::StatusOr<IssuedCertificate> {
    return CertificateFor("s-" + id, absl::StrCat(id, " ", static_cast<int>(grant.role)));
  };
  const auto person = store_->trust().Enroll(Token('p'), "laptop", sign);
  ASSERT_TRUE(person.ok()) << person.status();
  EXPECT_EQ(person->id, "bob");
  EXPECT_EQ(person->grant.role, v1::ROLE_OPERATOR);
  const auto collector = store_->trust().Enroll(Token('c'), "second", sign);
  ASSERT_TRUE(collector.ok()) << collector.status();
  EXPECT_EQ(Value("SELECT id FROM fleetmark.collector"), collector->id);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.host"), "0");
}

TEST_F(StoreTest, CertificatesSuitesAndTheAuditTrailAreKept) {
  ASSERT_TRUE(store_->trust().RecordCertificate(CertificateFor("0a", "bob"), "alice").ok());
  EXPECT_FALSE(*store_->trust().IsRevoked("0a"));
  EXPECT_FALSE(*store_->trust().IsRevoked("ff"));
  ASSERT_TRUE(store_->trust().Audit("alice", "did", "something").ok());
  EXPECT_EQ(Value("SELECT who || ' ' || what || ' ' || detail FROM fleetmark.audit ORDER BY id DESC LIMIT 1"),
            "alice did something");
  v1::Suite suite;
  suite.set_name("nightly");
  suite.set_version(1);
  suite.add_entries()->set_workload("disk.profile");
  ASSERT_TRUE(store_->suites().PutSuite(suite, "text", "alice").ok());
  suite.set_version(2);
  ASSERT_TRUE(store_->suites().PutSuite(suite, "text", "alice").ok());
  EXPECT_TRUE(store_->suites().PutSuite(suite, "text", "bob").ok()) << "the same again";
  suite.mutable_entries(0)->set_workload("host.clock");
  EXPECT_TRUE(absl::IsAlreadyExists(store_->suites().PutSuite(suite, "changed", "bob")));
  suite.set_version(1);
  EXPECT_TRUE(absl::IsAlreadyExists(store_->suites().PutSuite(suite, "changed", "bob")));
  const auto suites = store_->suites().ListSuites();
  ASSERT_EQ(suites->size(), 1U);
  EXPECT_EQ((*suites)[0].version(), 2U);
  EXPECT_EQ((*suites)[0].entries(0).workload(), "disk.profile");
}

}  // namespace
}  // namespace fleetmark::collector
