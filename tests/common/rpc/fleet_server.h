// A real gRPC server over TLS on loopback, for tests: FleetService.GetStatus answers with the caller's names.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/rpc/credentials.h"
#include "common/rpc/status.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::test {

class FleetServer : public v1::FleetService::CallbackService {
 public:
  explicit FleetServer(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                       const std::string& host = "127.0.0.1") {
    grpc::ServerBuilder builder;
    ApplyServerSettings(builder);
    builder.AddListeningPort(host + ":0", credentials, &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = host + ":" + std::to_string(port_);
  }
  ~FleetServer() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  const std::string& address() const { return address_; }
  int port() const { return port_; }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::GetStatusRequest*,
                                      v1::GetStatusResponse* response) override {
    for (const grpc::string_ref& name : context->auth_context()->GetPeerIdentity()) {
      response->set_version(std::string(name.data(), name.size()));
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  int port_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// The caller's name as the server saw it, or how the call failed. The deadline is for hangs only.
inline absl::StatusOr<std::string> AskWho(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::FleetService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::GetStatusResponse response;
  const grpc::Status status = stub->GetStatus(&context, {}, &response);
  if (!status.ok()) return FromGrpcStatus(status);
  return response.version();
}

inline absl::StatusOr<std::string> AskWho(const std::string& address, const TlsMaterial& material) {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(address, material);
  if (!channel.ok()) return channel.status();
  return AskWho(*channel);
}

}  // namespace fleetmark::test
