// Who may talk to whom: real gRPC over TLS on loopback.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/pki/files.h"
#include "common/pki/openssl_pointers.h"
#include "common/rpc/bare_handshake.h"
#include "common/rpc/credentials.h"
#include "tests/common/rpc/fleet_server.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

using test::AskWho;
using test::FleetServer;
using test::TestFleet;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TlsTest : public ::testing::Test {
 protected:
  const TestFleet fleet_;
  const TestFleet other_;
};

TEST_F(TlsTest, HostsAndPeopleAreKnownByTheirNames) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  const absl::StatusOr<std::string> host = AskWho(server.address(), fleet_.Host());
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_THAT(*host, StartsWith("urn:fleetmark:host:"));
  EXPECT_EQ(AskWho(server.address(), fleet_.Person("viewer")).value(), "urn:fleetmark:person:viewer:anna");
}

// C-143: the name in the certificate is the same whatever was dialled.
TEST_F(TlsTest, AnyAddressOfACollectorDoes) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  EXPECT_TRUE(AskWho("localhost:" + std::to_string(server.port()), fleet_.Host()).ok());
  const FleetServer ipv6(ServerCredentials(fleet_.Collector()), "[::1]");
  if (ipv6.port() == 0) GTEST_SKIP() << "this machine has no IPv6 loopback";
  EXPECT_TRUE(AskWho(ipv6.address(), fleet_.Host()).ok());
}

// C-175, C-180
TEST_F(TlsTest, NobodyIsServedWithoutACertificate) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  EXPECT_TRUE(absl::IsUnavailable(AskWho(MakeAnonymousChannel(server.address(), fleet_.ca_pem()).value()).status()));
}

// C-180
TEST_F(TlsTest, AnotherFleetsHostIsRefused) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  TlsMaterial stranger = other_.Host();
  stranger.ca_pem = fleet_.ca_pem();
  EXPECT_TRUE(absl::IsUnavailable(AskWho(server.address(), stranger).status()));
}

// C-180
TEST_F(TlsTest, AnotherFleetsCollectorIsRefused) {
  const FleetServer server(ServerCredentials(other_.Collector()));
  EXPECT_TRUE(absl::IsUnavailable(AskWho(server.address(), fleet_.Host()).status()));
}

TEST_F(TlsTest, AHostsCertificateCannotServe) {
  const FleetServer server(ServerCredentials(fleet_.Host()));
  EXPECT_TRUE(absl::IsUnavailable(AskWho(server.address(), fleet_.Host()).status()));
}

TEST_F(TlsTest, ACollectorsCertificateCannotConnect) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  EXPECT_TRUE(absl::IsUnavailable(AskWho(server.address(), fleet_.Collector()).status()));
}

TEST_F(TlsTest, AnExpiredCollectorIsRefused) {
  const FleetServer server(ServerCredentials(fleet_.Collector(absl::Now() - absl::Hours(1))));
  EXPECT_TRUE(absl::IsUnavailable(AskWho(server.address(), fleet_.Host()).status()));
}

// C-145
TEST_F(TlsTest, AnExpiredHostDoesNotEvenDial) {
  const absl::Status status = MakeChannel("127.0.0.1:1", fleet_.Host(absl::Now() - absl::Hours(1))).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the local clock"));
}

TEST_F(TlsTest, APortInUseIsAnError) {
  const FleetServer first(ServerCredentials(fleet_.Collector()));
  v1::FleetService::CallbackService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  ApplyServerSettings(builder);
  int port = 0;
  builder.AddListeningPort(first.address(), ServerCredentials(fleet_.Collector()), &port);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  EXPECT_EQ(port, 0);
}

// C-145: a renewed certificate needs no restart.
TEST_F(TlsTest, ARenewedServerCertificateIsPickedUp) {
  const test::TempDirectory directory;
  const TlsFiles files{directory / "ca.pem", directory / "server.pem", directory / "server.key"};
  const TlsMaterial collector = fleet_.Collector(absl::Now() + absl::Hours(1));
  ASSERT_TRUE(ReplaceFile(files.ca_file, collector.ca_pem, 0644).ok());
  ASSERT_TRUE(ReplaceFile(files.certificate_file, collector.certificate_chain_pem, 0644).ok());
  ASSERT_TRUE(ReplaceFile(files.key_file, collector.key_pem, 0600).ok());
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials = ReloadingServerCredentials(files);
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  const FleetServer server(*credentials);
  EXPECT_TRUE(AskWho(server.address(), fleet_.Host()).ok());
  EXPECT_FALSE(AskWho(server.address(), other_.Host()).ok());

  // Another certificate altogether; key and certificate change one after the other, as nobody should do it.
  const TlsMaterial renewed = fleet_.Collector();
  ASSERT_TRUE(ReplaceFile(files.key_file, renewed.key_pem, 0600).ok());
  ASSERT_TRUE(ReplaceFile(files.certificate_file, renewed.certificate_chain_pem, 0644).ok());
  const std::string wanted = SplitChain(renewed.certificate_chain_pem)->front();
  const Address address = ParseAddress(server.address(), 0).value();
  std::string presented;
  for (int i = 0; i < 600 && presented != wanted; ++i) {
    const absl::StatusOr<std::vector<std::string>> chain = PresentedChain(address, absl::Seconds(10));
    if (chain.ok()) presented = chain->front();
    if (presented != wanted) ::usleep(50'000);
  }
  EXPECT_EQ(presented, wanted);
  EXPECT_TRUE(AskWho(server.address(), fleet_.Host()).ok());
}

// A client of one TLS version, with the fleet's certificate of a host.
bool HandshakeSucceeds(int port, int version, const TlsMaterial& material) {
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const X509Ptr certificate = ParseCertificate(material.certificate_chain_pem);
  SSL_CTX_use_certificate(context.get(), certificate.get());
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(material.key_pem);
  SSL_CTX_use_PrivateKey(context.get(), key->get());
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool good = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  const SslPtr session(SSL_new(context.get()));
  SSL_set_fd(session.get(), fd);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof(kHttp2));
  good = good && SSL_connect(session.get()) == 1;
  (void)OpensslReason();
  ::close(fd);
  return good;
}

TEST_F(TlsTest, SpeaksTls13Only) {
  const FleetServer server(ServerCredentials(fleet_.Collector()));
  EXPECT_TRUE(HandshakeSucceeds(server.port(), TLS1_3_VERSION, fleet_.Host()));
  EXPECT_FALSE(HandshakeSucceeds(server.port(), TLS1_2_VERSION, fleet_.Host()));
}

TEST_F(TlsTest, BareHandshakeSeesTheWholeChainAndBelievesNothing) {
  const TlsMaterial collector = fleet_.Collector(absl::Now() - absl::Hours(1));
  const FleetServer server(ServerCredentials(collector));
  const absl::StatusOr<std::vector<std::string>> chain =
      PresentedChain(ParseAddress(server.address(), 0).value(), absl::Seconds(10));
  ASSERT_TRUE(chain.ok()) << chain.status();
  EXPECT_EQ(*chain, SplitChain(collector.certificate_chain_pem).value());
}

}  // namespace
}  // namespace fleetmark
