#include "collector/service/server/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/service/server/port_probe.h"
#include "common/rpc/address.h"
#include "common/rpc/credentials.h"

namespace fleetmark::collector {

void ServiceDeleter::operator()(grpc::Service* service) const { delete service; }

class RpcServer::Impl {
 public:
  std::unique_ptr<grpc::Server> server;
};

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const std::string& address, const TlsFiles& files,
                                                            const std::vector<grpc::Service*>& services) {
  if (const absl::Status free = ProbeListen(address, kMainPort, "--listen"); !free.ok()) return free;
  const absl::StatusOr<Address> parsed = ParseAddress(address, kMainPort);
  if (!parsed.ok()) return parsed.status();
  const absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials = ReloadingServerCredentials(files);
  if (!credentials.ok()) return credentials.status();

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  int port = 0;
  builder.AddListeningPort(ToString(*parsed), *credentials, &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  auto impl = std::make_unique<Impl>();
  impl->server = builder.BuildAndStart();
  if (!impl->server || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", ToString(*parsed), "; choose another address with --listen HOST:PORT"));
  }
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(impl), parsed->host, static_cast<uint16_t>(port)));
}

RpcServer::RpcServer(std::unique_ptr<Impl> impl, std::string host, uint16_t port)
    : impl_(std::move(impl)), host_(std::move(host)), port_(port) {}

RpcServer::~RpcServer() = default;

void RpcServer::Shutdown(absl::Duration deadline) {
  if (!impl_->server) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(deadline));
  impl_->server->Wait();
  impl_->server.reset();
}

}  // namespace fleetmark::collector
