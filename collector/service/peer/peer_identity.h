// Who calls: from the certificate that the TLS handshake has verified.
#pragma once

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "collector/service/peer/peer.h"

namespace fleetmark::collector {

// UNAUTHENTICATED: no certificate, or none that names a host, person or collector of ours.
absl::StatusOr<Peer> PeerOf(const grpc::ServerContextBase& context);

}  // namespace fleetmark::collector
