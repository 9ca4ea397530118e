#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/store/postgres_trust_store.h"
#include "collector/store/shared_statements.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

void InsertCertificate(Transaction& transaction, const IssuedCertificate& certificate, const std::string& who) {
  transaction.Exec(
      "INSERT INTO fleetmark.certificate (serial, subject, pem, issued_by, expires_at) VALUES ($1, $2, $3, $4, $5)"
      " ON CONFLICT (serial) DO NOTHING",
      Args(certificate.serial_hex, certificate.subject, certificate.pem, who, certificate.expires));
}

// "raspberrypi", then "raspberrypi-2", "raspberrypi-3": the first that no host of the fleet has. The caller holds the
// lock of the naming, so that two joiners do not choose the same.
std::string UniqueName(Transaction& transaction, const std::string& reported_name) {
  std::string base = EscapeForTerminal(CleanUtf8(reported_name.substr(0, 200)));
  if (base.empty()) base = "host";
  std::string name = base;
  for (int i = 2;; ++i) {
    if (transaction.Exec("SELECT 1 FROM fleetmark.host WHERE name = $1 AND removed_at IS NULL", Args(name)).empty()) {
      return name;
    }
    name = absl::StrCat(base, "-", i);
  }
}

}  // namespace

absl::StatusOr<std::string> PostgresTrustStore::GetAuthority() {
  return database_.Query<std::string>(
      "read the authority", [&](Transaction& transaction) -> absl::StatusOr<std::string> {
        const Rows rows = transaction.Exec("SELECT ca_pem FROM fleetmark.authority");
        if (rows.empty()) return absl::NotFoundError("this database belongs to no certificate authority yet");
        return rows[0].Text(0);
      });
}

absl::Status PostgresTrustStore::PutAuthority(const std::string& ca_pem) {
  return database_.Transact("record the authority", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO fleetmark.authority (ca_pem) VALUES ($1) ON CONFLICT DO NOTHING", Args(ca_pem));
    if (transaction.Exec("SELECT 1 FROM fleetmark.authority WHERE ca_pem = $1", Args(ca_pem)).empty()) {
      return absl::AlreadyExistsError(
          "this database belongs to the certificate authority of another collector; join that one "
          "(fleetmark-collector join), or use another database");
    }
    return absl::OkStatus();
  });
}

absl::Status PostgresTrustStore::AddToken(const std::string& token_sha256_hex, const TokenGrant& grant,
                                          absl::Time expires, const std::string& who) {
  return database_.Transact("record the invitation", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec(
        "INSERT INTO fleetmark.enrollment_token (sha256, kind, person_name, role, created_by, expires_at)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (sha256) DO NOTHING",
        Args(token_sha256_hex, static_cast<int>(grant.kind), grant.person_name, static_cast<int>(grant.role), who,
             expires));
    WriteAudit(transaction, who, "invite",
               absl::StrCat(grant.kind == v1::INVITE_KIND_HOST        ? "host"
                            : grant.kind == v1::INVITE_KIND_COLLECTOR ? "collector"
                                                                      : "person ",
                            grant.person_name));
    return absl::OkStatus();
  });
}

absl::StatusOr<Enrolled> PostgresTrustStore::Enroll(
    const std::string& token_sha256_hex, const std::string& reported_name,
    const std::function<absl::StatusOr<IssuedCertificate>(const TokenGrant&, const std::string& id)>& sign) {
  std::optional<Enrolled> signed_before;
  return database_.Query<Enrolled>("enrol", [&](Transaction& transaction) -> absl::StatusOr<Enrolled> {
    if (signed_before.has_value()) {
      // A commit of unknown outcome: if our certificate is there, it was done.
      if (!transaction
               .Exec("SELECT 1 FROM fleetmark.certificate WHERE serial = $1",
                     Args(signed_before->certificate.serial_hex))
               .empty()) {
        return *signed_before;
      }
    }
    const Rows token = transaction.Exec(
        "SELECT kind, person_name, role, used_at IS NOT NULL, expires_at <= now(), gen_random_uuid()"
        " FROM fleetmark.enrollment_token WHERE sha256 = $1 FOR UPDATE",
        Args(token_sha256_hex));
    if (token.empty()) {
      return absl::PermissionDeniedError(
          "the token is unknown here: mistyped, or of another fleet; ask for a new invitation");
    }
    if (token[0].Bool(3)) {
      return absl::PermissionDeniedError("the token has been used already; each works once: ask for a new invitation");
    }
    if (token[0].Bool(4)) return absl::PermissionDeniedError("the token has expired; ask for a new invitation");

    Enrolled enrolled;
    enrolled.grant.kind = static_cast<v1::InviteKind>(token[0].Int(0));
    enrolled.grant.person_name = token[0].Text(1);
    enrolled.grant.role = static_cast<v1::Role>(token[0].Int(2));
    if (enrolled.grant.kind == v1::INVITE_KIND_PERSON) {
      enrolled.id = enrolled.name = enrolled.grant.person_name;
    } else {
      enrolled.id = token[0].Text(5);
      enrolled.name = reported_name;
    }
    if (enrolled.grant.kind == v1::INVITE_KIND_HOST) {
      transaction.Exec("SELECT pg_advisory_xact_lock(hashtext('fleetmark.host.name'))");
      enrolled.name = UniqueName(transaction, reported_name);
      transaction.Exec("INSERT INTO fleetmark.host (id, name, reported_name) VALUES ($1, $2, $3)",
                       Args(enrolled.id, enrolled.name, reported_name));
    } else if (enrolled.grant.kind == v1::INVITE_KIND_COLLECTOR) {
      transaction.Exec("INSERT INTO fleetmark.collector (id, name) VALUES ($1, $2)", Args(enrolled.id, reported_name));
    }
    absl::StatusOr<IssuedCertificate> certificate = sign(enrolled.grant, enrolled.id);
    if (!certificate.ok()) return certificate.status();
    enrolled.certificate = *std::move(certificate);
    InsertCertificate(transaction, enrolled.certificate, "enrolment");
    transaction.Exec("UPDATE fleetmark.enrollment_token SET used_at = now(), used_by = $2 WHERE sha256 = $1",
                     Args(token_sha256_hex, enrolled.id));
    WriteAudit(transaction, enrolled.name, "enrol", absl::StrCat(enrolled.id, " as ", reported_name));
    if (enrolled.grant.kind == v1::INVITE_KIND_HOST) Notify(transaction, kHostChannel, enrolled.id);
    signed_before = enrolled;
    return enrolled;
  });
}

absl::Status PostgresTrustStore::RecordCertificate(const IssuedCertificate& certificate, const std::string& who) {
  return database_.Transact("record the certificate", [&](Transaction& transaction) -> absl::Status {
    InsertCertificate(transaction, certificate, who);
    WriteAudit(transaction, who, "certificate", absl::StrCat(certificate.subject, " ", certificate.serial_hex));
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> PostgresTrustStore::IsRevoked(const std::string& serial_hex) {
  return database_.Query<bool>("look up a certificate", [&](Transaction& transaction) -> absl::StatusOr<bool> {
    return !transaction
                .Exec("SELECT 1 FROM fleetmark.certificate WHERE serial = $1 AND revoked_at IS NOT NULL",
                      Args(serial_hex))
                .empty();
  });
}

absl::Status PostgresTrustStore::Audit(const std::string& who, const std::string& what, const std::string& detail) {
  return database_.Transact("write the audit trail", [&](Transaction& transaction) -> absl::Status {
    WriteAudit(transaction, who, what, detail);
    return absl::OkStatus();
  });
}

}  // namespace fleetmark::collector
