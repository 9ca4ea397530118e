// Who gets a session with a collector, and what everybody else is told.
#include <gmock/gmock.h>

#include "common/enroll/enroll_client.h"
#include "common/pki/key.h"
#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

class AgentSessionTest : public FleetTest {
 protected:
  // Connects and expects to be refused.
  v1::Refusal ExpectRefusal(ScriptedAgent& agent, TestCollector& collector) {
    agent.Connect(collector);
    const std::optional<v1::CollectorMessage> first = agent.Next();
    EXPECT_TRUE(first.has_value() && first->has_refusal()) << (first ? first->ShortDebugString() : "nothing came");
    EXPECT_FALSE(agent.AwaitEnd().ok()) << "a refusal ends the stream";
    return first.has_value() ? first->refusal() : v1::Refusal();
  }

  bool IsConnected(const std::string& host) {
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    EXPECT_TRUE(Call(one_.admin(), &v1::FleetService::Stub::GetHost, request, response).ok());
    return response.host().connected();
  }
};

TEST_F(AgentSessionTest, AHelloIsWelcomedAndTheHostIsConnected) {
  ScriptedAgent agent(one_, "mac-pro");
  EXPECT_FALSE(IsConnected("mac-pro"));
  agent.Connect(one_);
  const std::optional<v1::CollectorMessage> first = agent.Next();
  ASSERT_TRUE(first.has_value() && first->has_welcome());
  EXPECT_EQ(first->welcome().protocol(), 1u);
  EXPECT_EQ(first->welcome().host_name(), "mac-pro");
  EXPECT_GT(first->welcome().heartbeat_seconds(), 0);
  EXPECT_TRUE(Eventually([&] { return IsConnected("mac-pro"); }));
  agent.Cut();
  EXPECT_TRUE(Eventually([&] { return !IsConnected("mac-pro"); })) << "the claim is released at once";
}

// C-180
TEST_F(AgentSessionTest, AHostCannotSpeakForAnother) {
  ScriptedAgent a(one_, "a"), b(one_, "b");
  a.hello().set_host_id(b.id());
  const v1::Refusal refusal = ExpectRefusal(a, one_);
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_NOT_A_HOST);
  EXPECT_THAT(refusal.message(), HasSubstr(a.id()));
  EXPECT_THAT(refusal.message(), HasSubstr(b.id()));
  EXPECT_FALSE(IsConnected("b"));
}

// C-180
TEST_F(AgentSessionTest, APersonIsNotAnAgent) {
  const auto stub = v1::AgentService::NewStub(one_.Channel(one_.admin_material()));
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  v1::CollectorMessage message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AgentSessionTest, AHostIsNotAPerson) {
  ScriptedAgent agent(one_, "a");
  const auto stub = v1::FleetService::NewStub(one_.Channel(agent.material()));
  v1::ListHostsResponse response;
  EXPECT_EQ(Call(*stub, &v1::FleetService::Stub::ListHosts, v1::ListHostsRequest(), response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

// C-146
TEST_F(AgentSessionTest, WithoutACommonProtocolBothSidesAreNamed) {
  ScriptedAgent agent(one_, "a");
  agent.hello().set_agent_version("9.7");
  agent.hello().set_protocol_minimum(7);
  agent.hello().set_protocol_maximum(9);
  const v1::Refusal refusal = ExpectRefusal(agent, one_);
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_PROTOCOL);
  EXPECT_THAT(refusal.message(), HasSubstr("agent 9.7 speaks 7 to 9, collector test speaks 1 to 1"));
  EXPECT_THAT(refusal.message(), HasSubstr("upgrade the collector"));
  EXPECT_GE(refusal.retry_after_seconds(), 60) << "idles with slow retry";
}

// C-125
TEST_F(AgentSessionTest, AClonedMachineIsRefusedWhileTheFirstGoesOn) {
  ScriptedAgent agent(one_, "original");
  ASSERT_TRUE(agent.Join(one_));
  // The clone: the same key, another boot, another process.
  const auto stub = v1::AgentService::NewStub(one_.Channel(agent.material()));
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  v1::AgentMessage message;
  *message.mutable_hello() = agent.hello();
  message.mutable_hello()->set_host_name("clone");
  message.mutable_hello()->set_boot_id("another boot");
  message.mutable_hello()->set_session_id("another session");
  ASSERT_TRUE(stream->Write(message));
  v1::CollectorMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  ASSERT_TRUE(answer.has_refusal()) << answer.ShortDebugString();
  EXPECT_EQ(answer.refusal().reason(), v1::REFUSAL_REASON_IDENTITY_IN_USE);
  EXPECT_THAT(answer.refusal().message(), HasSubstr("original"));
  EXPECT_THAT(answer.refusal().message(), HasSubstr("clone"));
  EXPECT_THAT(answer.refusal().message(), HasSubstr("reset-id"));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(IsConnected("original"));
  // The original still is served.
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_number(1);
  EXPECT_TRUE(agent.Send(heartbeat));
}

TEST_F(AgentSessionTest, TheSameAgentTakesOverFromItsOwnOldStream) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const auto stub = v1::AgentService::NewStub(one_.Channel(agent.material()));
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  v1::AgentMessage message;
  *message.mutable_hello() = agent.hello();
  ASSERT_TRUE(stream->Write(message));
  v1::CollectorMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_TRUE(answer.has_welcome()) << answer.ShortDebugString();
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(IsConnected("a")) << "the end of the old stream must not take the claim of the new one";
  context.TryCancel();
}

// C-180: at once, where 60 s are allowed.
TEST_F(AgentSessionTest, RemovingAHostEndsItsStreamAndKeepsItOut) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::RemoveHostRequest request;
  request.set_host("a");
  v1::RemoveHostResponse response;
  ASSERT_TRUE(Call(one_.admin(), &v1::FleetService::Stub::RemoveHost, request, response).ok());
  const std::optional<v1::CollectorMessage> refusal = agent.Await(v1::CollectorMessage::kRefusal);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->refusal().reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_FALSE(agent.AwaitEnd().ok());
  EXPECT_EQ(ExpectRefusal(agent, one_).reason(), v1::REFUSAL_REASON_REMOVED);
}

TEST_F(AgentSessionTest, AStreamMustBeginWithOneHello) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::AgentMessage again;
  *again.mutable_hello() = agent.hello();
  agent.Send(again);
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  const auto stub = v1::AgentService::NewStub(one_.Channel(agent.material()));
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  v1::AgentMessage message;
  message.mutable_heartbeat();
  ASSERT_TRUE(stream->Write(message));
  v1::CollectorMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// C-181
TEST_F(AgentSessionTest, OneHostHasOnlySoManyStreams) {
  ScriptedAgent agent(one_, "a");
  const auto stub = v1::AgentService::NewStub(one_.Channel(agent.material()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>>> streams;
  for (int i = 0; i < 9; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub->Connect(contexts.back().get()));
  }
  // One of them is told; which one is up to the order of arrival. The others say nothing, being strangers so far.
  std::vector<std::thread> readers;
  std::atomic<int> refused{0};
  for (auto& stream : streams) {
    readers.emplace_back([&] {
      v1::CollectorMessage message;
      while (stream->Read(&message)) {
      }
      if (stream->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++refused;
    });
  }
  EXPECT_TRUE(Eventually([&] { return refused == 1; }));
  for (auto& context : contexts) context->TryCancel();
  for (auto& reader : readers) reader.join();
}

TEST_F(AgentSessionTest, ACertificateIsRenewedForItsOwnHostOnly) {
  ScriptedAgent agent(one_, "a");
  const absl::StatusOr<PrivateKey> key = PrivateKey::Generate();
  ASSERT_TRUE(key.ok());
  v1::RenewCertificateRequest request;
  request.set_certificate_request_der(*key->MakeRequest());
  v1::RenewCertificateResponse response;
  const auto stub = v1::AgentService::NewStub(one_.Channel(agent.material()));
  ASSERT_TRUE(Call(*stub, &v1::AgentService::Stub::RenewCertificate, request, response).ok());
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(response.certificate_chain_pem());
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->id, agent.id());
  const auto person = v1::AgentService::NewStub(one_.Channel(one_.admin_material()));
  EXPECT_EQ(Call(*person, &v1::AgentService::Stub::RenewCertificate, request, response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace fleetmark::collector
