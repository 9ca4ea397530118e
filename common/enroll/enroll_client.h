// Joining a fleet: from a join line to a key and certificate on disk. Shared by `fleetmark-agent join`,
// `fleetmark-collector join` and `fleetmark login`; what each writes beside is its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/identity.h"
#include "common/pki/tls_files.h"

namespace fleetmark {

struct EnrollOptions {
  std::string line;                         // the join line as typed
  IdentityKind kind = IdentityKind::kHost;  // what this program is; a line for another kind is refused
  std::string reported_name;                // host name, for hosts and collectors
  TlsFiles files;                           // to be written; directories are made with 0700
  std::string how_to_reset;                 // "fleetmark-agent reset-id": for the refusal to overwrite an identity
};

struct EnrolledIdentity {
  Identity identity;
  std::string name;                     // the fleet's name for the host
  std::vector<std::string> collectors;  // "10.0.0.2:7401", the one that answered first
  std::string ca_fingerprint_hex;
  absl::Time expires;
};

// Blocks for at most 5 s for each address that does not answer, and 30 s for the enrolment. First a bare handshake with
// each address of the line until one presents a chain with the line's CA; only then is a key made and the token sent,
// over a connection for which that CA is the only root.
//   ALREADY_EXISTS        there is an identity in `files`; nothing was sent
//   INVALID_ARGUMENT      the line
//   UNAVAILABLE           no address of the line answered (each with its reason)
//   FAILED_PRECONDITION   what answered is not the line's fleet (both fingerprints), or the line is for another kind
//   PERMISSION_DENIED     token unknown, used or expired
// After a failure the files and directories are as before.
absl::StatusOr<EnrolledIdentity> EnrollWithLine(const EnrollOptions& options);

// The request (DER) for a new certificate for the key in `files`.
absl::StatusOr<std::string> MakeRenewalRequest(const TlsFiles& files);

// Puts a renewed chain in place of the old certificate, after checking that it is for our key, from our CA and for the
// same identity. Atomic.
absl::Status InstallRenewedCertificate(const TlsFiles& files, const std::string& chain_pem);

}  // namespace fleetmark
