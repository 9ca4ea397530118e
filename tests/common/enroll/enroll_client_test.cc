#include "common/enroll/enroll_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/rpc/credentials.h"
#include "common/sync/mutex.h"
#include "fleetmark/v1/enrollment.grpc.pb.h"
#include "tests/support/trust/enrolling_fleet.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

using test::EnrollingFleet;
using test::TempDirectory;
using test::TestFleet;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A listener of somebody else that takes whatever it is sent, and counts it.
class Impostor : public v1::EnrollmentService::CallbackService {
 public:
  explicit Impostor(const TlsMaterial& material) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", AnonymousServerCredentials(material), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Impostor() override { server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5)); }

  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext* context, const v1::EnrollRequest*,
                                   v1::EnrollResponse* response) override {
    ++calls_;
    {
      MutexLock lock(mutex_);
      *response = answer_;
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  uint16_t port() const { return static_cast<uint16_t>(port_); }
  int calls() const { return calls_; }
  void AnswerWithChain(const std::string& pem) {
    MutexLock lock(mutex_);
    answer_.set_certificate_chain_pem(pem);
  }

 private:
  int port_ = 0;
  std::atomic<int> calls_{0};
  Mutex mutex_;
  v1::EnrollResponse answer_ GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

class EnrollClientTest : public ::testing::Test {
 protected:
  EnrollOptions Options(const std::string& line, IdentityKind kind = IdentityKind::kHost) const {
    return {line, kind, "attic", files_, "fleetmark-agent reset-id"};
  }
  bool NothingWritten() const { return !FileExists(directory_ / "id"); }
  // The line with other addresses or ports.
  static std::string Changed(const std::string& text, const std::vector<std::string>& hosts, uint16_t port) {
    JoinLine line = ParseJoinLine(text).value();
    if (!hosts.empty()) line.hosts = hosts;
    line.enrollment_port = port;
    return FormatJoinLine(line).value();
  }

  EnrollingFleet fleet_;
  const TempDirectory directory_;
  const TlsFiles files_{directory_ / "id/ca.pem", directory_ / "id/agent.pem", directory_ / "id/agent.key"};
};

TEST_F(EnrollClientTest, AHostGetsAnIdentityThatIsWholeAndPrivate) {
  const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(Options(fleet_.Invite()));
  ASSERT_TRUE(enrolled.ok()) << enrolled.status();
  EXPECT_EQ(enrolled->name, "attic");
  EXPECT_THAT(enrolled->collectors, ElementsAre("127.0.0.1:7401"));
  EXPECT_EQ(enrolled->ca_fingerprint_hex, fleet_.authority().ca_fingerprint_hex());
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files_);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(IdentityOfCertificate(material->certificate_chain_pem).value(), enrolled->identity);
  EXPECT_EQ(material->ca_pem, fleet_.authority().ca_pem());
  struct stat info {};
  ASSERT_EQ(::stat(files_.key_file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(EnrollClientTest, PeopleAndCollectorsJoinTheSameWay) {
  const absl::StatusOr<EnrolledIdentity> person =
      EnrollWithLine(Options(fleet_.Invite(v1::INVITE_KIND_PERSON), IdentityKind::kPerson));
  ASSERT_TRUE(person.ok()) << person.status();
  EXPECT_EQ(ToUri(person->identity), "urn:fleetmark:person:operator:anna");
  EnrollOptions options = Options(fleet_.Invite(v1::INVITE_KIND_COLLECTOR), IdentityKind::kCollector);
  options.files = {directory_ / "c/ca.pem", directory_ / "c/server.pem", directory_ / "c/server.key"};
  const absl::StatusOr<EnrolledIdentity> collector = EnrollWithLine(options);
  ASSERT_TRUE(collector.ok()) << collector.status();
  EXPECT_EQ(collector->identity.kind, IdentityKind::kCollector);
}

// C-180: somebody in between, with a certificate of his own.
TEST_F(EnrollClientTest, AnImpostorIsSentNothing) {
  const TestFleet other;
  const Impostor impostor(other.Collector());
  const absl::Status status = EnrollWithLine(Options(Changed(fleet_.Invite(), {}, impostor.port()))).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(fleet_.authority().ca_fingerprint_hex()),
                                                   HasSubstr(other.fingerprint_hex()), HasSubstr("nothing was sent")));
  EXPECT_EQ(impostor.calls(), 0);
  EXPECT_TRUE(NothingWritten());
}

// The real CA's certificate is public: presenting it proves nothing without a certificate that it signed.
TEST_F(EnrollClientTest, AnImpostorWhoShowsTheRealAuthorityIsSentNothing) {
  TlsMaterial forged = TestFleet().Collector();
  forged.certificate_chain_pem = SplitChain(forged.certificate_chain_pem)->front() + fleet_.authority().ca_pem();
  const Impostor impostor(forged);
  const absl::Status status = EnrollWithLine(Options(Changed(fleet_.Invite(), {}, impostor.port()))).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(impostor.calls(), 0);
  EXPECT_TRUE(NothingWritten());
}

// A host of the fleet has a certificate of the right CA, but may not play its collector.
TEST_F(EnrollClientTest, AHostOfTheFleetCannotTakeTokens) {
  const PrivateKey key = PrivateKey::Generate().value();
  const auto host = fleet_.authority().Sign({IdentityKind::kHost, NewUuid(), ""}, key.MakeRequest().value());
  ASSERT_TRUE(host.ok());
  const Impostor impostor({fleet_.authority().ca_pem(), host->pem, key.ToPem()});
  const absl::Status status = EnrollWithLine(Options(Changed(fleet_.Invite(), {}, impostor.port()))).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(impostor.calls(), 0);
  EXPECT_TRUE(NothingWritten());
}

// C-180
TEST_F(EnrollClientTest, ATokenIsGoodOnce) {
  const std::string line = fleet_.Invite();
  ASSERT_TRUE(EnrollWithLine(Options(line)).ok());
  EnrollOptions again = Options(line);
  again.files = {directory_ / "b/ca.pem", directory_ / "b/agent.pem", directory_ / "b/agent.key"};
  const absl::Status status = EnrollWithLine(again).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("used"));
  EXPECT_FALSE(FileExists(again.files.key_file));
}

TEST_F(EnrollClientTest, AnIdentityIsNotOverwritten) {
  ASSERT_TRUE(EnrollWithLine(Options(fleet_.Invite())).ok());
  const std::string key = ReadSmallFile(files_.key_file).value();
  const int calls = fleet_.store().enroll_calls();
  const absl::Status status = EnrollWithLine(Options(fleet_.Invite())).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("fleetmark-agent reset-id"), HasSubstr("urn:fleetmark:host:")));
  EXPECT_EQ(ReadSmallFile(files_.key_file).value(), key);
  EXPECT_EQ(fleet_.store().enroll_calls(), calls);
}

TEST_F(EnrollClientTest, ALineForAnotherProgramStaysGood) {
  const std::string line = fleet_.Invite(v1::INVITE_KIND_PERSON);
  const absl::Status status = EnrollWithLine(Options(line, IdentityKind::kHost)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("fleetmark login"));
  EXPECT_TRUE(NothingWritten());
  EXPECT_TRUE(EnrollWithLine(Options(line, IdentityKind::kPerson)).ok());
}

// Bound, but not listening: nobody else can get the port meanwhile.
class DeadPort {
 public:
  DeadPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~DeadPort() { ::close(fd_); }
  DeadPort(const DeadPort&) = delete;
  DeadPort& operator=(const DeadPort&) = delete;
  uint16_t port() const { return port_; }

 private:
  const int fd_;
  uint16_t port_ = 0;
};

TEST_F(EnrollClientTest, TheFirstAddressThatAnswersIsTaken) {
  // 127.0.0.2 answers on loopback too, but nobody listens on it.
  const std::string line = Changed(fleet_.Invite(), {"127.0.0.2", "localhost"}, fleet_.port());
  const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(Options(line));
  ASSERT_TRUE(enrolled.ok()) << enrolled.status();
  EXPECT_THAT(enrolled->collectors, ElementsAre("localhost:7401", "127.0.0.1:7401"));
}

TEST_F(EnrollClientTest, NobodyAnswers) {
  const DeadPort dead;
  const absl::Status status =
      EnrollWithLine(Options(Changed(fleet_.Invite(), {"127.0.0.1", "no-such-host.invalid"}, dead.port()))).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("127.0.0.1:"), HasSubstr("no-such-host.invalid")));
  EXPECT_TRUE(NothingWritten());
}

TEST_F(EnrollClientTest, WhatTheCollectorAnswersIsChecked) {
  const std::string line = fleet_.Invite();
  const TlsMaterial server = LoadTlsMaterial(fleet_.authority().server_files()).value();
  Impostor impostor(server);  // with the fleet's own certificate: a collector gone mad
  for (const std::string& chain : {std::string(), std::string("nonsense"), TestFleet().Host().certificate_chain_pem,
                                   server.certificate_chain_pem}) {
    impostor.AnswerWithChain(chain);
    EXPECT_FALSE(EnrollWithLine(Options(Changed(line, {}, impostor.port()))).ok());
    EXPECT_TRUE(NothingWritten());
  }
  EXPECT_EQ(impostor.calls(), 4);
}

TEST_F(EnrollClientTest, ARenewedCertificateTakesTheOldOnesPlace) {
  const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(Options(fleet_.Invite()));
  ASSERT_TRUE(enrolled.ok());
  const std::string key = ReadSmallFile(files_.key_file).value();
  const absl::StatusOr<std::string> request = MakeRenewalRequest(files_);
  ASSERT_TRUE(request.ok()) << request.status();
  const auto issued = fleet_.authority().RenewCertificate(enrolled->identity, *request, "x");
  ASSERT_TRUE(issued.ok());
  EXPECT_TRUE(InstallRenewedCertificate(files_, issued->pem).ok());
  EXPECT_EQ(ReadSmallFile(files_.certificate_file).value(), issued->pem);
  EXPECT_EQ(ReadSmallFile(files_.key_file).value(), key);

  const auto stranger = fleet_.authority().Sign({IdentityKind::kHost, NewUuid(), ""}, *request);
  EXPECT_TRUE(absl::IsFailedPrecondition(InstallRenewedCertificate(files_, stranger->pem)));
  EXPECT_FALSE(InstallRenewedCertificate(files_, TestFleet().Host().certificate_chain_pem).ok());
  EXPECT_FALSE(InstallRenewedCertificate(files_, "").ok());
  EXPECT_EQ(ReadSmallFile(files_.certificate_file).value(), issued->pem);
}

}  // namespace
}  // namespace fleetmark
