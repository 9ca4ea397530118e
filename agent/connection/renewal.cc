#include "agent/connection/renewal.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/pki/identity.h"
#include "common/pki/key.h"
#include "common/rpc/status.h"

namespace fleetmark::agent {
namespace {

constexpr int64_t kLookEveryNs = int64_t{3600} * 1'000'000'000;
constexpr std::chrono::seconds kCallDeadline{3};
constexpr mode_t kCertificateMode = 0644;

std::string EndOf(const TlsMaterial& material) {
  const absl::StatusOr<absl::Time> end = ExpiryOf(material);
  return end.ok() ? absl::FormatTime("%Y-%m-%d", *end, absl::UTCTimeZone()) : "an unknown day";
}

// What came must be ours: our key, our CA, our name.
absl::Status CheckNewChain(const std::string& chain, const TlsMaterial& old, const PrivateKey& key) {
  if (const absl::Status status = CheckSignedBy(chain, old.ca_pem); !status.ok()) return status;
  if (const absl::Status status = CheckKeyMatches(chain, key); !status.ok()) return status;
  const absl::StatusOr<Identity> was = IdentityOfCertificate(old.certificate_chain_pem);
  const absl::StatusOr<Identity> is = IdentityOfCertificate(chain);
  if (!was.ok()) return was.status();
  if (!is.ok()) return is.status();
  return *was == *is ? absl::OkStatus() : absl::InvalidArgumentError("the new certificate names another host");
}

}  // namespace

void Renewal::Look(v1::AgentService::Stub& stub, const TlsMaterial& material, LinkListener& listener) {
  const int64_t now = clock_.MonotonicNs();
  if (new_chain_.empty() && now >= next_look_ns_) {
    next_look_ns_ = now + kLookEveryNs;
    if (NeedsRenewal(material, clock_.Now())) Ask(stub, material);
  }
  if (!new_chain_.empty()) Keep(listener);
}

void Renewal::Ask(v1::AgentService::Stub& stub, const TlsMaterial& material) {
  const auto warn = [&](const absl::Status& status) {
    LogWarning("link", absl::StrCat("the certificate ends on ", EndOf(material),
                                    " and could not be renewed: ", std::string(status.message())));
  };
  const absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(material.key_pem);
  if (!key.ok()) return warn(key.status());
  const absl::StatusOr<std::string> request_der = key->MakeRequest();
  if (!request_der.ok()) return warn(request_der.status());

  v1::RenewCertificateRequest request;
  request.set_certificate_request_der(*request_der);
  v1::RenewCertificateResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  const grpc::Status called = stub.RenewCertificate(&context, request, &response);
  if (!called.ok()) return warn(FromGrpcStatus(called));
  const absl::Status fits = CheckNewChain(response.certificate_chain_pem(), material, *key);
  if (!fits.ok()) return warn(fits);
  new_chain_ = response.certificate_chain_pem();
}

void Renewal::Keep(LinkListener& listener) {
  const bool free = listener.IfDiskIsFree([&] {
    const absl::Status written = ReplaceFile(files_.certificate_file, new_chain_, kCertificateMode);
    if (written.ok()) {
      LogInfo("link", absl::StrCat("the certificate is renewed: ", files_.certificate_file));
    } else {
      LogWarning("link", absl::StrCat("the renewed certificate could not be kept: ", std::string(written.message())));
    }
  });
  if (free) new_chain_.clear();
}

}  // namespace fleetmark::agent
