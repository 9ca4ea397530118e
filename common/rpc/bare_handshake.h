// A TLS handshake that sends nothing and believes nothing: to see which certificates a peer presents.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/address.h"

namespace fleetmark {

// The presented chain, leaf first, as PEM. TLS 1.3, no client certificate, no application data; the connection is
// closed at once. UNAVAILABLE: not connected (the message has the system's reason), or the peer speaks no TLS 1.3 (the
// message starts with "no TLS 1.3"). DEADLINE_EXCEEDED after `timeout`. Blocks.
absl::StatusOr<std::vector<std::string>> PresentedChain(const Address& address, absl::Duration timeout);

}  // namespace fleetmark
