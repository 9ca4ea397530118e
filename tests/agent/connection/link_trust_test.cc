// Certificates: ours expired, theirs of another fleet, ours renewed.
#include <gmock/gmock.h>

#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "tests/agent/connection/link_fixture.h"
#include "tests/support/stderr_log.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using Side = ScriptedCollector::Side;

class AgentLinkTrustTest : public LinkFixture {};

// C-136: at the old address sits somebody else now.
TEST_F(AgentLinkTrustTest, StrangerAtACollectorsAddressLearnsNothing) {
  TestFleet other;
  std::atomic<int> said{0};
  ScriptedCollector stranger(other.Collector(), [&](Side& side) {
    v1::AgentMessage message;
    if (side.Read(&message)) ++said;
    return grpc::Status::OK;
  });
  auto collector = NormalCollector();
  const test::StderrLog log;
  StartLink({stranger.address(), collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_THAT(log.text(), HasSubstr("another fleet"));
  EXPECT_EQ(said, 0);
  EXPECT_EQ(stranger.connections(), 0);
}

// A host's certificate cannot play the collector.
TEST_F(AgentLinkTrustTest, HostThatPlaysTheCollectorLearnsNothing) {
  ScriptedCollector imposter(fleet_.Host("33333333-3333-4333-8333-333333333333"),
                             [&](Side& side) { return side.ServeNormally(); });
  auto collector = NormalCollector();
  StartLink({imposter.address(), collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return link_->connected(); }));
  EXPECT_EQ(imposter.connections(), 0);
}

// C-145: said before dialling, with both times.
TEST_F(AgentLinkTrustTest, ExpiredCertificateIsSaidAndNotSent) {
  auto collector = NormalCollector();
  clock_.wall_step_ns = absl::ToInt64Nanoseconds(absl::Hours(24 * 400));
  const test::StderrLog log;
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return log.Has("expired"); }));
  EXPECT_THAT(log.text(), HasSubstr("clock"));
  EXPECT_EQ(collector->connections(), 0);
}

TEST_F(AgentLinkTrustTest, MissingIdentityIsSaid) {
  std::filesystem::remove(files_.key_file);
  auto collector = NormalCollector();
  const test::StderrLog log;
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return log.Has(files_.key_file); }));
}

TEST_F(AgentLinkTrustTest, CertificateIsRenewedInTimeWithTheSameKey) {
  WriteIdentity(directory_, fleet_.Host(kHostId, absl::Hours(24 * 10)));
  const std::string key = *ReadSmallFile(files_.key_file);
  auto collector = NormalCollector(0.1);
  collector->renew = [&](const v1::RenewCertificateRequest& request, v1::RenewCertificateResponse* response) {
    response->set_certificate_chain_pem(fleet_.Sign(request.certificate_request_der(), kHostId));
    return grpc::Status::OK;
  };
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] {
    const auto material = LoadTlsMaterial(files_);
    return material.ok() && !NeedsRenewal(*material, absl::Now());
  }));
  EXPECT_EQ(*ReadSmallFile(files_.key_file), key);
  // The present connection goes on; the next one uses the new certificate.
  EXPECT_EQ(collector->connections(), 1);
}

TEST_F(AgentLinkTrustTest, RenewedCertificateOfAnotherHostIsNotKept) {
  WriteIdentity(directory_, fleet_.Host(kHostId, absl::Hours(24 * 10)));
  const std::string before = *ReadSmallFile(files_.certificate_file);
  std::atomic<int> asked{0};
  auto collector = NormalCollector(0.1);
  collector->renew = [&](const v1::RenewCertificateRequest& request, v1::RenewCertificateResponse* response) {
    response->set_certificate_chain_pem(
        fleet_.Sign(request.certificate_request_der(), "44444444-4444-4444-8444-444444444444"));
    ++asked;
    return grpc::Status::OK;
  };
  StartLink({collector->address()});
  ASSERT_TRUE(collector->WaitFor([&] { return asked == 1; }));
  ASSERT_TRUE(collector->WaitFor([&] { return collector->CountReceived(v1::AgentMessage::kHeartbeat) > 1; }));
  EXPECT_EQ(*ReadSmallFile(files_.certificate_file), before);
  EXPECT_EQ(asked, 1) << "once an hour, not once a heartbeat";
}

}  // namespace
}  // namespace fleetmark::agent
