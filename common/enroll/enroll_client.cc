#include "common/enroll/enroll_client.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/enroll/new_directories.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/pki/join_line.h"
#include "common/pki/key.h"
#include "common/rpc/bare_handshake.h"
#include "common/rpc/enroll_call.h"

namespace fleetmark {
namespace {

constexpr absl::Duration kHandshakeTimeout = absl::Seconds(5);
constexpr absl::Duration kEnrollTimeout = absl::Seconds(30);

v1::InviteKind KindOf(IdentityKind kind) {
  switch (kind) {
    case IdentityKind::kHost:
      return v1::INVITE_KIND_HOST;
    case IdentityKind::kCollector:
      return v1::INVITE_KIND_COLLECTOR;
    case IdentityKind::kPerson:
      return v1::INVITE_KIND_PERSON;
  }
  return v1::INVITE_KIND_UNSPECIFIED;
}

absl::Status CheckNoIdentity(const EnrollOptions& options) {
  for (const std::string* file : {&options.files.certificate_file, &options.files.key_file}) {
    if (!FileExists(*file)) continue;
    const std::string who = [&] {
      const absl::StatusOr<std::string> pem = ReadSmallFile(options.files.certificate_file);
      const absl::StatusOr<Identity> identity = pem.ok() ? IdentityOfCertificate(*pem) : pem.status();
      return identity.ok() ? absl::StrCat(" (", ToUri(*identity), ")") : std::string();
    }();
    return absl::AlreadyExistsError(absl::StrCat("join: there is an identity already", who, " in ", *file,
                                                 "; it is kept. To give it up first, type: ", options.how_to_reset));
  }
  return absl::OkStatus();
}

struct Trusted {
  Address address;
  std::string ca_pem;
};

// The certificate of the line's fleet among the presented ones, or the status that names both fingerprints.
absl::StatusOr<std::string> PinnedAuthority(const std::vector<std::string>& chain, const std::string& fingerprint_hex,
                                            const std::string& where) {
  std::string presented = "none";
  for (const std::string& pem : chain) {
    const absl::StatusOr<CertificateInfo> info = DescribeCertificate(pem);
    if (!info.ok()) continue;
    if (info->is_ca && info->fingerprint_hex == fingerprint_hex) return pem;
    presented = info->fingerprint_hex;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "join: what answers at ", where, " is not the fleet of this line, or somebody is in between: the line's CA is ",
      fingerprint_hex, ", the presented one ", presented, "; nothing was sent to it"));
}

absl::StatusOr<Trusted> FindCollector(const JoinLine& line) {
  std::vector<std::string> reasons;
  absl::Status mismatch;
  for (const std::string& host : line.hosts) {
    const std::string text = host.find(':') == std::string::npos ? host : absl::StrCat("[", host, "]");
    const absl::StatusOr<Address> address = ParseAddress(text, line.enrollment_port);
    if (!address.ok()) return address.status();
    const absl::StatusOr<std::vector<std::string>> chain = PresentedChain(*address, kHandshakeTimeout);
    if (!chain.ok()) {
      reasons.emplace_back(chain.status().message());
      continue;
    }
    absl::StatusOr<std::string> ca = PinnedAuthority(*chain, line.ca_fingerprint_hex, ToString(*address));
    if (ca.ok()) return Trusted{*address, *std::move(ca)};
    mismatch = ca.status();
  }
  if (!mismatch.ok()) return mismatch;
  return absl::UnavailableError(absl::StrCat("join: no address of the line answers (", absl::StrJoin(reasons, "; "),
                                             "); is the collector running, and may this machine reach it?"));
}

// Checks all that the collector could get wrong before anything is written.
absl::StatusOr<EnrolledIdentity> CheckResponse(const v1::EnrollResponse& response, const Trusted& trusted,
                                               const PrivateKey& key, IdentityKind kind) {
  const std::string& chain = response.certificate_chain_pem();
  if (const absl::Status status = CheckSignedBy(chain, trusted.ca_pem); !status.ok()) return status;
  if (const absl::Status status = CheckKeyMatches(chain, key); !status.ok()) return status;
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(chain);
  if (!identity.ok()) return identity.status();
  if (identity->kind != kind) {
    return absl::FailedPreconditionError(absl::StrCat("join: the collector gave a certificate for ", ToUri(*identity),
                                                      ", which is not what this program is"));
  }
  EnrolledIdentity enrolled;
  enrolled.identity = *identity;
  enrolled.name = response.host_name();
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(chain);
  if (!info.ok()) return info.status();
  enrolled.expires = info->not_after;
  return enrolled;
}

void AddOnce(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos || slash == 0 ? "." : path.substr(0, slash);
}

absl::Status MakeDirectories(const TlsFiles& files, NewDirectories& directories) {
  for (const std::string* file : {&files.ca_file, &files.certificate_file, &files.key_file}) {
    if (absl::Status status = directories.Make(ParentOf(*file)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Removes the new key unless told to keep it.
class KeyFile {
 public:
  static absl::StatusOr<std::unique_ptr<KeyFile>> Make(const std::string& path, const PrivateKey& key) {
    if (absl::Status status = CreateFileExclusively(path, key.ToPem(), 0600); !status.ok()) return status;
    return std::unique_ptr<KeyFile>(new KeyFile(path));
  }
  ~KeyFile() {
    if (!keep_) ::unlink(path_.c_str());
  }
  void Keep() { keep_ = true; }

 private:
  explicit KeyFile(std::string path) : path_(std::move(path)) {}
  const std::string path_;
  bool keep_ = false;
};

}  // namespace

absl::StatusOr<EnrolledIdentity> EnrollWithLine(const EnrollOptions& options) {
  const absl::StatusOr<JoinLine> line = ParseJoinLine(options.line);
  if (!line.ok()) return line.status();
  if (absl::Status status = CheckNoIdentity(options); !status.ok()) return status;
  const absl::StatusOr<Trusted> trusted = FindCollector(*line);
  if (!trusted.ok()) return trusted.status();

  const absl::StatusOr<PrivateKey> key = PrivateKey::Generate();
  if (!key.ok()) return key.status();
  v1::EnrollRequest request;
  NewDirectories directories;  // goes after the key in them
  if (absl::Status status = MakeDirectories(options.files, directories); !status.ok()) return status;
  // The key is on disk before the token is spent: a full disk must not cost an invite.
  absl::StatusOr<std::unique_ptr<KeyFile>> key_file = KeyFile::Make(options.files.key_file, *key);
  if (!key_file.ok()) return key_file.status();
  const absl::StatusOr<std::string> csr = key->MakeRequest();
  if (!csr.ok()) return csr.status();
  request.set_token(line->token);
  request.set_certificate_request_der(*csr);
  request.set_host_name(options.reported_name);
  request.set_kind(KindOf(options.kind));

  const absl::StatusOr<v1::EnrollResponse> response =
      CallEnroll(trusted->address, trusted->ca_pem, request, kEnrollTimeout);
  if (!response.ok()) {
    return absl::Status(response.status().code(),
                        absl::StrCat("join: ", ToString(trusted->address), " says: ", response.status().message()));
  }
  absl::StatusOr<EnrolledIdentity> enrolled = CheckResponse(*response, *trusted, *key, options.kind);
  if (!enrolled.ok()) return enrolled.status();
  Address main = trusted->address;
  main.port = line->main_port;
  AddOnce(enrolled->collectors, ToString(main));
  for (const std::string& address : response->collector_addresses()) {
    if (ParseAddress(address, 0).ok()) AddOnce(enrolled->collectors, address);
  }
  enrolled->ca_fingerprint_hex = line->ca_fingerprint_hex;

  // The token is spent: what is there from here on says how far it came.
  directories.Keep();
  if (absl::Status status = ReplaceFile(options.files.ca_file, trusted->ca_pem, 0644); !status.ok()) return status;
  // Last: a certificate is the sign of a completed join.
  if (absl::Status status =
          CreateFileExclusively(options.files.certificate_file, response->certificate_chain_pem(), 0644);
      !status.ok()) {
    return status;
  }
  (*key_file)->Keep();
  return enrolled;
}

absl::StatusOr<std::string> MakeRenewalRequest(const TlsFiles& files) {
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(files);
  if (!material.ok()) return material.status();
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(material->key_pem);
  if (!key.ok()) return key.status();
  return key->MakeRequest();
}

absl::Status InstallRenewedCertificate(const TlsFiles& files, const std::string& chain_pem) {
  const absl::StatusOr<TlsMaterial> old = LoadTlsMaterial(files);
  if (!old.ok()) return old.status();
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(old->key_pem);
  if (!key.ok()) return key.status();
  if (absl::Status status = CheckSignedBy(chain_pem, old->ca_pem); !status.ok()) return status;
  if (absl::Status status = CheckKeyMatches(chain_pem, *key); !status.ok()) return status;
  const absl::StatusOr<Identity> before = IdentityOfCertificate(old->certificate_chain_pem);
  const absl::StatusOr<Identity> after = IdentityOfCertificate(chain_pem);
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  if (!(*before == *after)) {
    return absl::FailedPreconditionError(
        absl::StrCat("renew the certificate: the new one is for ", ToUri(*after), ", not for ", ToUri(*before)));
  }
  return ReplaceFile(files.certificate_file, chain_pem, 0644);
}

}  // namespace fleetmark
