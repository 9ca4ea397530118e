// Authority::WriteLocalAdmin: the local user's way in.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "fleetmark/v1/config.pb.h"
#include "google/protobuf/text_format.h"

namespace fleetmark::collector {
namespace {

struct ClientFiles {
  TlsFiles tls;
  std::string config;
};

ClientFiles FilesIn(const std::string& directory) {
  return {{directory + "/ca.pem", directory + "/client.pem", directory + "/client.key"},
          directory + "/client.textproto"};
}

// A system's user names may hold what a certificate's must not ("DOMAIN\anna").
std::string PersonNameOf(const std::string& user_name) {
  std::string name;
  for (const char c : user_name.substr(0, 64)) {
    const bool good = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    name += good ? c : '_';
  }
  return name.empty() ? "local" : name;
}

std::string ConfigText(const ClientFiles& files, const std::vector<std::string>& collectors) {
  v1::ClientConfig config;
  for (const std::string& collector : collectors) config.add_collectors(collector);
  config.set_ca_file(files.tls.ca_file);
  config.set_certificate_file(files.tls.certificate_file);
  config.set_key_file(files.tls.key_file);
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return absl::StrCat("# Written by fleetmark-collector for this machine's user.\n", text);
}

absl::Status ReplaceIfDifferent(const std::string& path, const std::string& contents, mode_t mode) {
  const absl::StatusOr<std::string> old = ReadSmallFile(path);
  if (old.ok() && *old == contents) return absl::OkStatus();
  return ReplaceFile(path, contents, mode);
}

}  // namespace

absl::Status Authority::WriteLocalAdmin(const std::string& config_directory, const std::string& user_name,
                                        const std::vector<std::string>& collectors) {
  const ClientFiles files = FilesIn(config_directory);
  const absl::StatusOr<std::string> old_ca = ReadSmallFile(files.tls.ca_file);
  if (old_ca.ok()) {
    const absl::StatusOr<CertificateInfo> info = DescribeCertificate(*old_ca);
    if (info.ok() && info->fingerprint_hex != ca_fingerprint_hex_) {
      return absl::AlreadyExistsError(absl::StrCat(
          "write the configuration of this machine's user: ", config_directory, " has one for another fleet (CA ",
          info->fingerprint_hex.substr(0, 16), "...), which is kept; to use this collector, move ", files.tls.ca_file,
          ", ", files.tls.certificate_file, " and ", files.tls.key_file, " away and start it again"));
    }
  }
  if (absl::Status status = MakePrivateDirectory(config_directory); !status.ok()) return status;
  const Identity admin{IdentityKind::kPerson, PersonNameOf(user_name), "admin"};
  const absl::StatusOr<TlsMaterial> old = LoadTlsMaterial(files.tls);
  const bool good =
      old.ok() && !NeedsRenewal(*old, clock_.Now()) && IdentityOfCertificate(old->certificate_chain_pem).ok();
  if (!good) {
    const absl::StatusOr<PrivateKey> key = PrivateKey::Generate();
    if (!key.ok()) return key.status();
    const absl::StatusOr<std::string> request = key->MakeRequest();
    if (!request.ok()) return request.status();
    const absl::StatusOr<IssuedCertificate> issued = RenewCertificate(admin, *request, "collector");
    if (!issued.ok()) return issued.status();
    if (absl::Status status = ReplaceFile(files.tls.ca_file, ca_pem_, 0644); !status.ok()) return status;
    if (absl::Status status = ReplaceFile(files.tls.certificate_file, issued->pem, 0644); !status.ok()) return status;
    if (absl::Status status = ReplaceFile(files.tls.key_file, key->ToPem(), 0600); !status.ok()) return status;
  }
  return ReplaceIfDifferent(files.config, ConfigText(files, collectors), 0644);
}

}  // namespace fleetmark::collector
