#include "collector/service/peer/peer_identity.h"

#include <grpc/grpc_security_constants.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/pki/certificate.h"

namespace fleetmark::collector {
namespace {

std::string Text(const grpc::string_ref& text) { return std::string(text.data(), text.size()); }

}  // namespace

absl::StatusOr<Peer> PeerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (!auth || !auth->IsPeerAuthenticated()) return absl::UnauthenticatedError("no certificate was presented");
  Peer peer;
  peer.address = context.peer();
  const std::vector<grpc::string_ref> certificates = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificates.size() != 1) return absl::UnauthenticatedError("no certificate was presented");
  const std::string pem = Text(certificates.front());
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(pem);
  if (!identity.ok()) {
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate names nobody of this fleet: ", std::string(identity.status().message())));
  }
  peer.identity = *identity;
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(pem);
  if (!info.ok()) return absl::UnauthenticatedError("the certificate cannot be read");
  peer.certificate_serial_hex = info->serial_hex;
  return peer;
}

}  // namespace fleetmark::collector
