#include "collector/service/enrollment/enrollment_server.h"

#include <gmock/gmock.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include "common/pki/join_line.h"
#include "common/pki/random.h"
#include "common/rpc/credentials.h"
#include "common/rpc/enroll_call.h"
#include "common/rpc/status.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/fake_trust_store.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

class EnrollmentServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // What the collector's main listener wants; the enrolment listener must not offer it.
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<EnrollmentServer>> server =
        EnrollmentServer::Start("127.0.0.1:0", authority_->server_files());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    enrollment_ = std::make_unique<Enrollment>(
        *authority_, store_,
        Enrollment::Options{.hosts = {"127.0.0.1"}, .enrollment_port = server_->port(), .main_port = 7401});
  }
  void TearDown() override {
    if (server_) server_->Shutdown(absl::Seconds(5));
  }

  Address Where() const { return {Address::Kind::kIpv4, "127.0.0.1", server_->port()}; }
  std::string Token() {
    return ParseJoinLine(enrollment_->CreateInvite(v1::CreateInviteRequest(), "x").value().join_line())->token;
  }
  absl::StatusOr<v1::EnrollResponse> Enroll(const std::string& token) {
    v1::EnrollRequest request;
    request.set_token(token);
    request.set_host_name("attic");
    request.set_certificate_request_der(PrivateKey::Generate()->MakeRequest().value());
    return CallEnroll(Where(), authority_->ca_pem(), request, absl::Seconds(60));
  }
  // Calls any method with an empty message.
  absl::Status CallAny(const std::string& method, const std::shared_ptr<grpc::Channel>& channel) {
    grpc::GenericStub stub(channel);
    const grpc::Slice empty;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    grpc::ByteBuffer response;
    grpc::Status status;
    const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&empty, 1), &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return FromGrpcStatus(status);
  }

  const test::TempDirectory state_;
  test::FakeTrustStore store_;
  std::unique_ptr<Authority> authority_ = Authority::Open(state_.path(), store_).value();
  std::unique_ptr<EnrollmentServer> server_;
  std::unique_ptr<Enrollment> enrollment_;
};

TEST_F(EnrollmentServerTest, EnrolsOverTlsWithoutAClientCertificate) {
  server_->Serve(*enrollment_);
  const absl::StatusOr<v1::EnrollResponse> response = Enroll(Token());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->host_name(), "attic");
}

TEST_F(EnrollmentServerTest, CodesAndWordsOfRefusalsArrive) {
  server_->Serve(*enrollment_);
  const absl::Status status = Enroll(RandomToken()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("unknown"));
}

TEST_F(EnrollmentServerTest, GuessesOfOneAddressAreCounted) {
  server_->Serve(*enrollment_);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(absl::IsPermissionDenied(Enroll(RandomToken()).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(Enroll(RandomToken()).status()))
      << "each call had another port, but one address";
}

TEST_F(EnrollmentServerTest, IsUnavailableBeforeItServes) {
  const absl::Status status = Enroll(RandomToken()).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("starting or stopping"));
}

// C-175
TEST_F(EnrollmentServerTest, OffersNothingElse) {
  server_->Serve(*enrollment_);
  const std::shared_ptr<grpc::Channel> channel = MakeAnonymousChannel(ToString(Where()), authority_->ca_pem()).value();
  for (const char* method :
       {"/grpc.health.v1.Health/Check", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/fleetmark.v1.FleetService/GetStatus",
        "/fleetmark.v1.FleetService/ListHosts", "/fleetmark.v1.AgentService/RenewCertificate"}) {
    EXPECT_TRUE(absl::IsUnimplemented(CallAny(method, channel))) << method;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(CallAny("/fleetmark.v1.EnrollmentService/Enroll", channel)))
      << "the test's own call must be able to reach a method";
}

TEST_F(EnrollmentServerTest, RefusesHugeMessages) {
  server_->Serve(*enrollment_);
  EXPECT_TRUE(absl::IsResourceExhausted(Enroll(std::string(1 << 20, 'x')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Enroll(std::string(1000, 'x')).status()));
}

TEST_F(EnrollmentServerTest, APortInUseIsNamed) {
  const absl::Status status = EnrollmentServer::Start(ToString(Where()), authority_->server_files()).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(ToString(Where())));
  EXPECT_TRUE(absl::IsInvalidArgument(EnrollmentServer::Start("nonsense:x", authority_->server_files()).status()));
}

TEST_F(EnrollmentServerTest, StopsTwice) {
  server_->Serve(*enrollment_);
  server_->Shutdown(absl::Seconds(5));
  server_->Shutdown(absl::Seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(Enroll(RandomToken()).status()));
}

}  // namespace
}  // namespace fleetmark::collector
