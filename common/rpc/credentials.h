// Credentials, channels and server settings: all that our programs know about how gRPC speaks TLS. There is no
// plaintext and no way to turn verification off.
//
// Thread-safe. Channels of MakeChannel share nothing: a new channel per connection attempt means one backoff, the
// caller's own.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/tls_files.h"
#include "common/rpc/address.h"

namespace fleetmark {

inline constexpr int kMaxMessageBytes = 8 << 20;

// Between two pings on a connection, whether something is said on it or not. A server of ours ends a connection whose
// pings come faster than kLeastPingInterval; with gRPC's own limit (5 min), it would end them all.
inline constexpr absl::Duration kKeepalive = absl::Seconds(20);
inline constexpr absl::Duration kLeastPingInterval = absl::Seconds(5);

// A client with a certificate of its own.
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const TlsMaterial& material);

// A server that requires and verifies client certificates of `material.ca_pem`.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const TlsMaterial& material);

// The same, reading the files again when they change (within 2 s): a renewed certificate needs no restart.
// FAILED_PRECONDITION and others as LoadTlsMaterial.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ReloadingServerCredentials(const TlsFiles& files);

// A server that asks for no client certificate: the enrolment listener.
std::shared_ptr<grpc::ServerCredentials> AnonymousServerCredentials(const TlsMaterial& material);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ReloadingAnonymousServerCredentials(const TlsFiles& files);

// A lazy channel: nothing is dialled before the first call. The peer must be a collector of the material's CA, named
// kCollectorDnsName, whatever the address. INVALID_ARGUMENT: the address. FAILED_PRECONDITION: our own certificate has
// expired by the local clock. `keepalive` is the time between two pings, for a peer that found the usual ones too many.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, const TlsMaterial& material,
                                                           absl::Duration keepalive = kKeepalive);

// What every channel of ours is made with.
grpc::ChannelArguments ChannelSettings(absl::Duration keepalive = kKeepalive);

// A channel without a client certificate, for enrolment: `ca_pem` is the only root.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeAnonymousChannel(const std::string& address,
                                                                    const std::string& ca_pem);

// Message limits, keepalive, handshake timeout (10 s), no sharing of a port with another process (so that a port in
// use is an error).
void ApplyServerSettings(grpc::ServerBuilder& builder);

// Removes what other parts of the process add to every server: reflection and health.
void OfferNothingElse(grpc::ServerBuilder& builder);

}  // namespace fleetmark
