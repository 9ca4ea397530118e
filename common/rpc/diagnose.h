// Why a collector could not be reached, in words a person can act on. No gRPC in this header.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/pki/tls_files.h"

namespace fleetmark {

// Makes gRPC's UNAVAILABLE for `address` readable: nobody listens, no such name, no route, no TLS there, another
// fleet's collector (both fingerprints), an expired certificate of the collector (with the local clock), our
// certificate not accepted. Looks for itself with one bare handshake (at most `timeout`); other codes pass unchanged.
// Blocks: not for reactions. The code stays UNAVAILABLE.
absl::Status ExplainUnavailable(const absl::Status& status, const std::string& address, const TlsMaterial& material,
                                absl::Duration timeout = absl::Seconds(3));

}  // namespace fleetmark
