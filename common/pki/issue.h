// Making certificates: the fleet's CA and its leaves. Pure functions; the caller keeps keys and records.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/identity.h"
#include "common/pki/key.h"

namespace fleetmark {

// A self-signed CA: path length 0, may sign certificates and revocation lists and nothing else. Valid from 1970.
absl::StatusOr<std::string> MakeAuthorityCertificate(const PrivateKey& key, const std::string& common_name,
                                                     absl::Time not_after);

struct IssuedLeaf {
  std::string chain_pem;   // leaf, then the CA
  std::string serial_hex;  // 128 random bits
  absl::Time not_after;
};

// A leaf for the key in `request_der`, whose own names and wishes are ignored. Exactly one extended key usage: a
// collector serves (and carries kCollectorDnsName), a host or person is a client. Valid from 1970, so that a machine
// whose clock is behind can use it. INVALID_ARGUMENT: the request is malformed, not signed by its own key, or has a
// key other than EC P-256 / P-384, Ed25519 or RSA >= 3072 bits.
absl::StatusOr<IssuedLeaf> IssueLeaf(const PrivateKey& ca_key, const std::string& ca_pem,
                                     const std::string& request_der, const Identity& identity, absl::Time not_after);

}  // namespace fleetmark
