// Reading certificates. Pure functions over PEM and DER texts; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/key.h"

namespace fleetmark {

struct CertificateInfo {
  std::string common_name;
  std::string serial_hex;       // lower case, without leading zeros
  std::string fingerprint_hex;  // SHA-256 of the DER
  absl::Time not_before;
  absl::Time not_after;
  std::vector<std::string> dns_names;
  std::vector<std::string> uri_names;
  bool is_ca = false;
  bool may_serve = false;    // extended key usage serverAuth
  bool may_connect = false;  // extended key usage clientAuth
};

absl::StatusOr<CertificateInfo> DescribeCertificate(const std::string& pem);  // the first one in `pem`

// The certificates of a chain, one PEM text each. INVALID_ARGUMENT if there is none or one cannot be read.
absl::StatusOr<std::vector<std::string>> SplitChain(const std::string& pem);

absl::StatusOr<std::string> PemToDer(const std::string& pem);
absl::StatusOr<std::string> DerToPem(std::string_view der);

// OK if the first certificate of `chain_pem` is signed by `ca_pem`, a CA. Time and usage are not looked at.
absl::Status CheckSignedBy(const std::string& chain_pem, const std::string& ca_pem);

// OK if `key` is the private half of the first certificate's key.
absl::Status CheckKeyMatches(const std::string& chain_pem, const PrivateKey& key);

}  // namespace fleetmark
