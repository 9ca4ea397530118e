#include "common/pki/identity.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/pki/certificate.h"

namespace fleetmark {
namespace {

constexpr std::string_view kPrefix = "urn:fleetmark:";

bool IsRole(std::string_view role) { return role == "viewer" || role == "operator" || role == "admin"; }

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string ToUri(const Identity& identity) {
  const std::string prefix(kPrefix);
  switch (identity.kind) {
    case IdentityKind::kHost:
      return absl::StrCat(prefix, "host:", identity.id);
    case IdentityKind::kCollector:
      return absl::StrCat(prefix, "collector:", identity.id);
    case IdentityKind::kPerson:
      return absl::StrCat(prefix, "person:", identity.role, ":", identity.id);
  }
  return {};
}

absl::StatusOr<Identity> ParseIdentityUri(std::string_view uri) {
  const absl::Status error = absl::InvalidArgumentError("not a name of fleetmark");
  std::string_view rest = uri;
  if (!TakePrefix(rest, kPrefix)) return error;
  Identity identity;
  if (TakePrefix(rest, "host:") || TakePrefix(rest, "collector:")) {
    identity.kind = uri.starts_with("urn:fleetmark:host:") ? IdentityKind::kHost : IdentityKind::kCollector;
    if (!IsUuid(rest)) return error;
  } else if (TakePrefix(rest, "person:")) {
    identity.kind = IdentityKind::kPerson;
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos || !IsRole(rest.substr(0, colon))) return error;
    identity.role = std::string(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
    if (!CheckPersonName(rest).ok()) return error;
  } else {
    return error;
  }
  identity.id = std::string(rest);
  return identity;
}

absl::StatusOr<Identity> IdentityOfCertificate(const std::string& pem) {
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(pem);
  if (!info.ok()) return info.status();
  if (info->uri_names.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("read who a certificate is for: it has ", info->uri_names.size(), " names of fleetmark, not one"));
  }
  return ParseIdentityUri(info->uri_names.front());
}

absl::Status CheckPersonName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError("a person's name must have 1 to 64 of the characters a-z A-Z 0-9 . _ -");
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

}  // namespace fleetmark
