#include "common/pki/tls_files.h"

#include "absl/strings/str_cat.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/pki/key.h"

namespace fleetmark {
namespace {

constexpr absl::Duration kRenewBefore = absl::Hours(24 * 30);

std::string ShowTime(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()); }

absl::Status WithPath(const absl::Status& status, const std::string& path) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<TlsMaterial> LoadTlsMaterial(const TlsFiles& files) {
  TlsMaterial material;
  for (const auto& [path, text] : {std::pair{&files.ca_file, &material.ca_pem},
                                   std::pair{&files.certificate_file, &material.certificate_chain_pem},
                                   std::pair{&files.key_file, &material.key_pem}}) {
    absl::StatusOr<std::string> contents = ReadSmallFile(*path);
    if (!contents.ok()) return contents.status();
    *text = *std::move(contents);
  }
  if (const absl::Status status = CheckPrivate(files.key_file); !status.ok()) return status;
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(material.key_pem);
  if (!key.ok()) return absl::FailedPreconditionError(absl::StrCat(files.key_file, ": ", key.status().message()));
  if (const absl::Status status = SplitChain(material.certificate_chain_pem).status(); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(files.certificate_file, ": ", status.message()));
  }
  if (const absl::StatusOr<CertificateInfo> ca = DescribeCertificate(material.ca_pem); !ca.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(files.ca_file, ": ", ca.status().message()));
  }
  if (const absl::Status status = CheckKeyMatches(material.certificate_chain_pem, *key); !status.ok()) {
    return WithPath(status, files.key_file);
  }
  if (const absl::Status status = CheckSignedBy(material.certificate_chain_pem, material.ca_pem); !status.ok()) {
    return WithPath(status, files.certificate_file);
  }
  return material;
}

absl::StatusOr<absl::Time> ExpiryOf(const TlsMaterial& material) {
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(material.certificate_chain_pem);
  if (!info.ok()) return info.status();
  return info->not_after;
}

absl::Status CheckValidity(const TlsMaterial& material, absl::Time now) {
  for (const std::string* pem : {&material.certificate_chain_pem, &material.ca_pem}) {
    const absl::StatusOr<CertificateInfo> info = DescribeCertificate(*pem);
    if (!info.ok()) return info.status();
    const bool own = pem == &material.certificate_chain_pem;
    const std::string whose = own ? "this program's certificate" : "the CA's certificate";
    if (now > info->not_after) {
      return absl::FailedPreconditionError(
          absl::StrCat(whose, " expired at ", ShowTime(info->not_after), ", by the local clock, which says ",
                       ShowTime(now), ": if the clock is right, join again with a new invite; if not, set it"));
    }
    if (now < info->not_before) {
      return absl::FailedPreconditionError(absl::StrCat("the local clock says ", ShowTime(now),
                                                        ", which is before the start of ", whose, " (",
                                                        ShowTime(info->not_before), "): set the clock"));
    }
  }
  return absl::OkStatus();
}

bool NeedsRenewal(const TlsMaterial& material, absl::Time now) {
  const absl::StatusOr<absl::Time> expiry = ExpiryOf(material);
  return expiry.ok() && *expiry - now < kRenewBefore;
}

}  // namespace fleetmark
