#include "collector/pki/authority.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/pki/issue.h"
#include "common/pki/random.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 365 * 30);
constexpr absl::Duration kLeafLife = absl::Hours(24 * 365);

std::string AuthorityKeyFile(const std::string& state_directory) {
  return absl::StrCat(state_directory, "/pki/ca.key");
}

absl::Status WithContext(const absl::Status& status, const std::string& context) {
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::Status NotTheSigner() {
  return absl::FailedPreconditionError(
      "this collector does not hold the key of the fleet's CA: ask the collector that was started first "
      "(its state directory has pki/ca.key)");
}

}  // namespace

TlsFiles ServerFiles(const std::string& state_directory) {
  const std::string pki = absl::StrCat(state_directory, "/pki/");
  return {pki + "ca.pem", pki + "server.pem", pki + "server.key"};
}

absl::StatusOr<std::unique_ptr<Authority>> Authority::Open(const std::string& state_directory, TrustStore& store,
                                                           const Clock& clock) {
  std::unique_ptr<Authority> authority(new Authority(ServerFiles(state_directory), store, clock));
  if (absl::Status status = MakePrivateDirectory(absl::StrCat(state_directory, "/pki")); !status.ok()) return status;
  if (absl::Status status = authority->OpenAuthority(AuthorityKeyFile(state_directory)); !status.ok()) return status;
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(authority->ca_pem_);
  if (!info.ok()) return WithContext(info.status(), "read the fleet's CA");
  authority->ca_fingerprint_hex_ = info->fingerprint_hex;
  if (absl::Status status = authority->OpenServerIdentity(); !status.ok()) return status;
  return authority;
}

absl::Status Authority::OpenAuthority(const std::string& key_file) {
  absl::StatusOr<std::string> known = store_.GetAuthority();
  if (absl::IsNotFound(known.status())) {
    const absl::Status made = MakeAuthority(key_file);
    // ALREADY_EXISTS: another collector was first on this database, between our look and our write.
    if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    known = store_.GetAuthority();
  }
  if (!known.ok()) return WithContext(known.status(), "read the fleet's CA from the database");
  ca_pem_ = *known;

  if (FileExists(key_file)) {
    if (absl::Status status = CheckPrivate(key_file); !status.ok()) return status;
    const absl::StatusOr<std::string> pem = ReadSmallFile(key_file);
    if (!pem.ok()) return pem.status();
    const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(*pem);
    if (!key.ok()) return absl::FailedPreconditionError(absl::StrCat(key_file, ": ", key.status().message()));
    if (!CheckKeyMatches(ca_pem_, *key).ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          key_file,
          " is the key of another fleet's CA than the one this database belongs to: use the database that goes with "
          "this state directory, or another --state-dir"));
    }
    ca_key_ = *key;
    return ReplaceFile(files_.ca_file, ca_pem_, 0644);
  }
  if (!FileExists(files_.certificate_file)) {
    return absl::FailedPreconditionError(
        "this database belongs to a fleet whose CA another collector holds: on that one type `fleetmark collectors "
        "invite`, and here `fleetmark-collector join LINE`");
  }
  return absl::OkStatus();
}

// Key first, then the certificate, then the database: what is half done is taken up again by the next start.
absl::Status Authority::MakeAuthority(const std::string& key_file) {
  const bool resumed = FileExists(key_file);
  absl::StatusOr<std::string> ca_pem = absl::NotFoundError("");
  if (resumed) {
    if (absl::Status status = CheckPrivate(key_file); !status.ok()) return status;
    const absl::StatusOr<std::string> pem = ReadSmallFile(key_file);
    const absl::StatusOr<PrivateKey> key = pem.ok() ? PrivateKey::FromPem(*pem) : pem.status();
    if (!key.ok()) return WithContext(key.status(), key_file);
    ca_key_ = *key;
    ca_pem = ReadSmallFile(files_.ca_file);
    if (ca_pem.ok() && !CheckKeyMatches(*ca_pem, *ca_key_).ok()) ca_pem = absl::NotFoundError("");
  } else {
    const absl::StatusOr<PrivateKey> key = PrivateKey::Generate();
    if (!key.ok()) return key.status();
    ca_key_ = *key;
    if (absl::Status status = CreateFileExclusively(key_file, key->ToPem(), 0600); !status.ok()) return status;
  }
  if (!ca_pem.ok()) {
    const std::string name = absl::StrCat("fleetmark CA ", NewUuid().substr(0, 8));
    ca_pem = MakeAuthorityCertificate(*ca_key_, name, clock_.Now() + kAuthorityLife);
    if (!ca_pem.ok()) return ca_pem.status();
    if (absl::Status status = ReplaceFile(files_.ca_file, *ca_pem, 0644); !status.ok()) return status;
  }
  const absl::Status put = store_.PutAuthority(*ca_pem);
  if (absl::IsAlreadyExists(put) && !resumed) {
    ::unlink(key_file.c_str());
    ::unlink(files_.ca_file.c_str());
    ca_key_.reset();
  }
  if (put.ok()) {
    LogInfo("pki", absl::StrCat("made the fleet's CA; its key is in ", key_file));
    (void)store_.Audit("collector", "make the CA", "");
  }
  return put;
}

absl::Status Authority::OpenServerIdentity() {
  if (!FileExists(files_.certificate_file)) {
    if (!ca_key_) return NotTheSigner();
    // A key without its certificate is a first start that was cut off.
    absl::StatusOr<PrivateKey> key = absl::NotFoundError("");
    if (FileExists(files_.key_file)) {
      if (absl::Status status = CheckPrivate(files_.key_file); !status.ok()) return status;
      const absl::StatusOr<std::string> pem = ReadSmallFile(files_.key_file);
      key = pem.ok() ? PrivateKey::FromPem(*pem) : pem.status();
    } else {
      key = PrivateKey::Generate();
      if (!key.ok()) return key.status();
      if (absl::Status status = CreateFileExclusively(files_.key_file, key->ToPem(), 0600); !status.ok()) return status;
    }
    if (!key.ok()) return WithContext(key.status(), files_.key_file);
    collector_id_ = NewUuid();
    return IssueServerCertificate(*key);
  }
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files_);
  if (!material.ok()) return material.status();
  if (!CheckSignedBy(material->certificate_chain_pem, ca_pem_).ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(files_.certificate_file,
                     " is not signed by the CA of this database's fleet: use the database that goes with this state "
                     "directory, or join that fleet with another --state-dir"));
  }
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(material->certificate_chain_pem);
  if (!identity.ok() || identity->kind != IdentityKind::kCollector) {
    return absl::FailedPreconditionError(
        absl::StrCat(files_.certificate_file, " is not the certificate of a collector"));
  }
  collector_id_ = identity->id;
  return RenewServerCertificate().status();
}

absl::Status Authority::IssueServerCertificate(const PrivateKey& key) {
  const absl::StatusOr<std::string> request = key.MakeRequest();
  if (!request.ok()) return request.status();
  const Identity identity{IdentityKind::kCollector, collector_id_, ""};
  const absl::StatusOr<IssuedCertificate> issued = Sign(identity, *request);
  if (!issued.ok()) return issued.status();
  if (absl::Status status = store_.RecordCertificate(*issued, "collector"); !status.ok()) return status;
  return ReplaceFile(files_.certificate_file, issued->pem, 0644);
}

absl::StatusOr<bool> Authority::RenewServerCertificate() {
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files_);
  if (!material.ok()) return material.status();
  if (!NeedsRenewal(*material, clock_.Now())) return false;
  if (!ca_key_) {
    const absl::Status expired = CheckValidity(*material, clock_.Now());
    if (!expired.ok()) return expired;
    LogWarning("pki", absl::StrCat(
                          "the certificate in ", files_.certificate_file,
                          " ends in less than 30 days, and this collector cannot sign: join again with a new invite"));
    return false;
  }
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(material->key_pem);
  if (!key.ok()) return key.status();
  if (absl::Status status = IssueServerCertificate(*key); !status.ok()) return status;
  LogInfo("pki", "renewed the collector's certificate");
  return true;
}

absl::StatusOr<IssuedCertificate> Authority::Sign(const Identity& identity, const std::string& request_der) const {
  if (!ca_key_) return NotTheSigner();
  absl::StatusOr<IssuedLeaf> leaf = IssueLeaf(*ca_key_, ca_pem_, request_der, identity, clock_.Now() + kLeafLife);
  if (!leaf.ok()) return leaf.status();
  return IssuedCertificate{leaf->serial_hex, ToUri(identity), std::move(leaf->chain_pem), leaf->not_after};
}

absl::StatusOr<IssuedCertificate> Authority::RenewCertificate(const Identity& identity, const std::string& request_der,
                                                              const std::string& who) {
  absl::StatusOr<IssuedCertificate> issued = Sign(identity, request_der);
  if (!issued.ok()) return issued.status();
  if (absl::Status status = store_.RecordCertificate(*issued, who); !status.ok()) return status;
  return issued;
}

}  // namespace fleetmark::collector
