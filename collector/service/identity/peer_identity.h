// Who is at the other end of a call, from the certificate that TLS has verified.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/pki/identity.h"
#include "fleetmark/v1/fleet.pb.h"

namespace grpc {
class AuthContext;
class ServerContextBase;
}  // namespace grpc

namespace fleetmark::collector {

struct PeerIdentity {
  IdentityKind kind = IdentityKind::kHost;
  std::string id;                        // host's UUID, or person's name
  v1::Role role = v1::ROLE_UNSPECIFIED;  // of a person
  std::string serial_hex;                // for TrustStore::IsRevoked

  std::string ToString() const;  // "person anna (admin)", for the audit trail
};

// UNAUTHENTICATED: no certificate, or one that is not of a host or person.
absl::StatusOr<PeerIdentity> FromAuthContext(const grpc::AuthContext& context);
absl::StatusOr<PeerIdentity> FromServerContext(const grpc::ServerContextBase& context);

// PERMISSION_DENIED, naming what is there and what is needed.
absl::Status RequireRole(const PeerIdentity& peer, v1::Role least);  // a person with at least this role
absl::Status RequireHost(const PeerIdentity& peer);

}  // namespace fleetmark::collector
