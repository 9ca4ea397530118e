// The three files that make a program's TLS identity, and their contents. Pure file and X.509 code, no gRPC.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark {

struct TlsFiles {
  std::string ca_file;
  std::string certificate_file;  // chain, leaf first
  std::string key_file;          // mode 0600
};

// The contents. Copies hold a private key: pass by reference, never log.
struct TlsMaterial {
  std::string ca_pem;
  std::string certificate_chain_pem;
  std::string key_pem;
};

// Reads and checks the files. NOT_FOUND: one is missing. PERMISSION_DENIED: the key may be read by others (the message
// has the chmod to type). FAILED_PRECONDITION: key and certificate do not belong together, or the certificate is not
// signed by the CA. Expiry is not looked at: see CheckValidity.
absl::StatusOr<TlsMaterial> LoadTlsMaterial(const TlsFiles& files);

// When the material's own certificate ends.
absl::StatusOr<absl::Time> ExpiryOf(const TlsMaterial& material);

// To be asked before connecting, since the peer's refusal of an expired certificate says nothing. FAILED_PRECONDITION:
// expired by the local clock; the message has both times, because the clock may be what is wrong.
absl::Status CheckValidity(const TlsMaterial& material, absl::Time now);

// True when less than 30 days are left: time to ask for a new certificate.
bool NeedsRenewal(const TlsMaterial& material, absl::Time now);

}  // namespace fleetmark
