// TestFleet: a CA of a test's own, and TLS identities of it.
#pragma once

#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "common/pki/certificate.h"
#include "common/pki/issue.h"
#include "common/pki/random.h"
#include "common/pki/tls_files.h"

namespace fleetmark::test {

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (!value.ok()) std::abort();
  return *std::move(value);
}

class TestFleet {
 public:
  TestFleet()
      : key_(ValueOrDie(PrivateKey::Generate())),
        ca_pem_(ValueOrDie(MakeAuthorityCertificate(key_, "test CA", absl::Now() + absl::Hours(24 * 3650)))) {}

  const std::string& ca_pem() const { return ca_pem_; }
  std::string fingerprint_hex() const { return ValueOrDie(DescribeCertificate(ca_pem_)).fingerprint_hex; }

  TlsMaterial Make(const Identity& identity, absl::Time not_after = absl::Now() + absl::Hours(24 * 365)) const {
    const PrivateKey key = ValueOrDie(PrivateKey::Generate());
    const IssuedLeaf leaf = ValueOrDie(IssueLeaf(key_, ca_pem_, ValueOrDie(key.MakeRequest()), identity, not_after));
    return {ca_pem_, leaf.chain_pem, key.ToPem()};
  }
  TlsMaterial Collector(absl::Time not_after = absl::Now() + absl::Hours(24 * 365)) const {
    return Make({IdentityKind::kCollector, NewUuid(), ""}, not_after);
  }
  TlsMaterial Host(absl::Time not_after = absl::Now() + absl::Hours(24 * 365)) const {
    return Make({IdentityKind::kHost, NewUuid(), ""}, not_after);
  }
  TlsMaterial Person(const std::string& role) const { return Make({IdentityKind::kPerson, "anna", role}); }

 private:
  const PrivateKey key_;
  const std::string ca_pem_;
};

}  // namespace fleetmark::test
