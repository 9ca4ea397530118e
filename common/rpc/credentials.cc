#include "common/rpc/credentials.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/pki/identity.h"
#include "common/rpc/process_internal.h"

namespace fleetmark {
namespace {

constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kMostReconnectBackoffMs = 10'000;
constexpr unsigned kReloadSeconds = 1;

grpc::SslServerCredentialsOptions ServerOptions(const TlsMaterial& material,
                                                grpc_ssl_client_certificate_request_type client_certificate) {
  PrepareRpcEnvironment();
  grpc::SslServerCredentialsOptions options(client_certificate);
  if (client_certificate != GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE) options.pem_root_certs = material.ca_pem;
  options.pem_key_cert_pairs.push_back({material.key_pem, material.certificate_chain_pem});
  return options;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ReloadingCredentials(
    const TlsFiles& files, grpc_ssl_client_certificate_request_type client_certificate) {
  PrepareRpcEnvironment();
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files);
  if (!material.ok()) return material.status();
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key_file, files.certificate_file, files.ca_file, kReloadSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (client_certificate != GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE) options.watch_root_certs();
  options.set_cert_request_type(client_certificate);
  return grpc::experimental::TlsServerCredentials(options);
}

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

absl::StatusOr<std::shared_ptr<grpc::Channel>> Dial(const std::string& address,
                                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                                    const grpc::ChannelArguments& settings) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, kMainPort);
  if (!parsed.ok()) return parsed.status();
  return grpc::CreateCustomChannel(ToGrpcTarget(*parsed), credentials, settings);
}

// Plugins (reflection adds itself to every server of the process) are dropped; the health service is refused.
class NothingElse : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override { plugins->clear(); }
};

}  // namespace

grpc::ChannelArguments ChannelSettings(absl::Duration keepalive) {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(std::string(kCollectorDnsName));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(keepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMostReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const TlsMaterial& material) {
  PrepareRpcEnvironment();
  return grpc::SslCredentials({material.ca_pem, material.key_pem, material.certificate_chain_pem});
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const TlsMaterial& material) {
  return grpc::SslServerCredentials(
      ServerOptions(material, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY));
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ReloadingServerCredentials(const TlsFiles& files) {
  return ReloadingCredentials(files, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
}

std::shared_ptr<grpc::ServerCredentials> AnonymousServerCredentials(const TlsMaterial& material) {
  return grpc::SslServerCredentials(ServerOptions(material, GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE));
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ReloadingAnonymousServerCredentials(const TlsFiles& files) {
  return ReloadingCredentials(files, GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, const TlsMaterial& material,
                                                           absl::Duration keepalive) {
  if (const absl::Status status = CheckValidity(material, absl::Now()); !status.ok()) return status;
  return Dial(address, ClientCredentials(material), ChannelSettings(keepalive));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeAnonymousChannel(const std::string& address,
                                                                    const std::string& ca_pem) {
  PrepareRpcEnvironment();
  return Dial(address, grpc::SslCredentials({ca_pem, "", ""}), ChannelSettings());
}

void ApplyServerSettings(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, Milliseconds(kLeastPingInterval));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

void OfferNothingElse(grpc::ServerBuilder& builder) {
  builder.SetOption(std::make_unique<NothingElse>());
  builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
}

}  // namespace fleetmark
