// Authority: the CA's certificate, one-time tokens, issued and revoked certificates, the audit trail. Private keys are
// never in the database.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

struct TokenGrant {
  v1::InviteKind kind = v1::INVITE_KIND_UNSPECIFIED;
  std::string person_name;
  v1::Role role = v1::ROLE_UNSPECIFIED;
};

struct IssuedCertificate {
  std::string serial_hex;
  std::string subject;  // "urn:fleetmark:host:<uuid>"
  std::string pem;      // chain, leaf first
  absl::Time expires;
};

struct Enrolled {
  TokenGrant grant;
  std::string id;    // host's or collector's UUID, or the person's name
  std::string name;  // a host's unique fleet name
  IssuedCertificate certificate;
};

class TrustStore {
 public:
  virtual ~TrustStore() = default;

  // The CA certificate (PEM) this database belongs to; NOT_FOUND before the first start. PutAuthority fails with
  // ALREADY_EXISTS if another collector was first.
  virtual absl::StatusOr<std::string> GetAuthority() = 0;
  virtual absl::Status PutAuthority(const std::string& ca_pem) = 0;

  // Stores the SHA-256 of a token.
  virtual absl::Status AddToken(const std::string& token_sha256_hex, const TokenGrant& grant, absl::Time expires,
                                const std::string& who) = 0;

  // Uses up the token and records the certificate that `sign` makes, in one transaction. `sign` gets the grant and the
  // new id (a fresh UUID for hosts and collectors). For a host: creates its row with a unique name derived from
  // `reported_name`. PERMISSION_DENIED: unknown, used or expired token (the message says which of the three).
  virtual absl::StatusOr<Enrolled> Enroll(
      const std::string& token_sha256_hex, const std::string& reported_name,
      const std::function<absl::StatusOr<IssuedCertificate>(const TokenGrant&, const std::string& id)>& sign) = 0;

  virtual absl::Status RecordCertificate(const IssuedCertificate& certificate, const std::string& who) = 0;
  virtual absl::StatusOr<bool> IsRevoked(const std::string& serial_hex) = 0;

  virtual absl::Status Audit(const std::string& who, const std::string& what, const std::string& detail) = 0;
};

// Suites that users added; the ones shipped with the collector are files and not in here.
class SuiteStore {
 public:
  virtual ~SuiteStore() = default;
  virtual absl::Status PutSuite(const v1::Suite& suite, const std::string& text, const std::string& who) = 0;
  virtual absl::StatusOr<std::vector<v1::Suite>> ListSuites() = 0;
};

}  // namespace fleetmark::collector
