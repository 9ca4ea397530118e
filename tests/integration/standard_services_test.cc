// gRPC's own services, health and reflection: for those who may speak to the collector, and for nobody else.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "common/pki/identity.h"
#include "tests/integration/support/fleet_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

struct Answer {
  grpc::Status status;
  std::string bytes;
};

// One message there and one back, as bytes: the services' protos come with no package.
Answer Ask(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  Answer answer;
  call->StartCall(nullptr);
  if (next()) {
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    grpc::ByteBuffer buffer;
    if (next()) {
      call->Read(&buffer, nullptr);
      std::vector<grpc::Slice> slices;
      if (next() && buffer.Dump(&slices).ok()) {
        for (const grpc::Slice& part : slices)
          answer.bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
      }
    }
  }
  call->Finish(&answer.status, nullptr);
  next();
  queue.Shutdown();
  while (next()) {
  }
  return answer;
}

class StandardServicesTest : public FleetTest {};

TEST_F(StandardServicesTest, APersonOfTheFleetIsTold) {
  const std::shared_ptr<grpc::Channel> channel = one_.Channel(one_.admin_material());
  const Answer health = Ask(channel, kHealth, "");
  EXPECT_TRUE(health.status.ok()) << health.status.error_message();
  EXPECT_EQ(health.bytes, "\x08\x01") << "status: SERVING";
  const Answer services = Ask(channel, kReflection, "\x3a\x01*");  // list_services: "*"
  EXPECT_TRUE(services.status.ok()) << services.status.error_message();
  EXPECT_THAT(services.bytes, HasSubstr("fleetmark.v1.FleetService"));
}

TEST_F(StandardServicesTest, NobodyElseIs) {
  grpc::SslCredentialsOptions options;  // knows whom it speaks to, and cannot say who it is
  options.pem_root_certs = one_.admin_material().ca_pem;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(std::string(kCollectorDnsName));
  for (const auto& credentials : {grpc::SslCredentials(options), grpc::InsecureChannelCredentials()}) {
    const auto channel = grpc::CreateCustomChannel(one_.address(), credentials, arguments);
    for (const char* method : {kHealth, kReflection}) {
      const Answer answer = Ask(channel, method, "");
      EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE) << method;
      EXPECT_EQ(answer.bytes, "");
    }
  }
}

}  // namespace
}  // namespace fleetmark::collector
