#include "common/rpc/diagnose.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/rpc/credentials.h"
#include "tests/common/rpc/fleet_server.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

using test::FleetServer;
using test::TestFleet;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DiagnoseTest : public ::testing::Test {
 protected:
  // Calls, fails, and explains.
  static std::string Explain(const std::string& address, const TlsMaterial& material) {
    const absl::Status status = test::AskWho(address, material).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    const absl::Status explained = ExplainUnavailable(status, address, material, absl::Seconds(30));
    EXPECT_TRUE(absl::IsUnavailable(explained)) << explained;
    return std::string(explained.message());
  }

  const TestFleet fleet_;
  const TestFleet other_;
};

// A port that nobody listens on: bound, so that nobody else gets it meanwhile, but not listening.
TEST_F(DiagnoseTest, NobodyListens) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
  const std::string address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  EXPECT_THAT(Explain(address, fleet_.Host()),
              AllOf(HasSubstr("collector " + address + " is not reachable"), HasSubstr("is the collector running")));
  ::close(fd);
}

// The collector answers; what it says of its database may quote the same words as an error of the connection to it.
TEST_F(DiagnoseTest, ACollectorWithoutItsDatabaseIsNoConnectionError) {
  const absl::Status status = absl::UnavailableError(
      "look up a certificate: connection to server at \"10.0.0.9\" failed: Connection refused; the collector does not "
      "reach PostgreSQL: start it, or mend the way to it");
  EXPECT_EQ(ExplainUnavailable(status, "127.0.0.1:1", fleet_.Host(), absl::Seconds(30)), status);
}

TEST_F(DiagnoseTest, NoSuchName) {
  EXPECT_THAT(Explain("no-such-host.invalid:7401", fleet_.Host()), HasSubstr("no-such-host.invalid"));
}

// C-145
TEST_F(DiagnoseTest, AServerWithoutTls) {
  const FleetServer server(grpc::InsecureServerCredentials());
  EXPECT_THAT(Explain(server.address(), fleet_.Host()), HasSubstr("no TLS 1.3 at " + server.address()));
}

// C-143, C-180
TEST_F(DiagnoseTest, AnotherFleet) {
  const FleetServer server(ServerCredentials(other_.Collector()));
  EXPECT_THAT(
      Explain(server.address(), fleet_.Host()),
      AllOf(HasSubstr("another fleet"), HasSubstr(fleet_.fingerprint_hex()), HasSubstr(other_.fingerprint_hex())));
}

// C-143: expected and presented names.
TEST_F(DiagnoseTest, AHostInPlaceOfACollector) {
  const FleetServer server(ServerCredentials(fleet_.Host()));
  EXPECT_THAT(Explain(server.address(), fleet_.Host()),
              HasSubstr("which is not a collector's (collector.fleetmark.internal)"));
}

// C-144, C-145
TEST_F(DiagnoseTest, AnExpiredCollector) {
  const FleetServer server(ServerCredentials(fleet_.Collector(absl::Now() - absl::Hours(1))));
  EXPECT_THAT(Explain(server.address(), fleet_.Host()),
              AllOf(HasSubstr("its certificate expired at"), HasSubstr("clock, which says")));
}

TEST_F(DiagnoseTest, OurCertificateIsNotAccepted) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  TlsMaterial stranger = other_.Host();
  stranger.ca_pem = fleet_.ca_pem();
  EXPECT_THAT(Explain(server.address(), stranger), HasSubstr("does not accept this program's certificate"));
}

TEST_F(DiagnoseTest, WhatTheCollectorItselfSaysPasses) {
  const absl::Status database = absl::UnavailableError("the database is not there");
  EXPECT_EQ(ExplainUnavailable(database, "127.0.0.1:1", fleet_.Host()), database);
  const absl::Status missing = absl::NotFoundError("failed to connect");
  EXPECT_EQ(ExplainUnavailable(missing, "127.0.0.1:1", fleet_.Host()), missing);
}

}  // namespace
}  // namespace fleetmark
