#include "common/pki/key.h"

#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl_pointers.h"

namespace fleetmark {
namespace {

std::shared_ptr<EVP_PKEY> Shared(EVP_PKEY* key) {
  return std::shared_ptr<EVP_PKEY>(key, [](EVP_PKEY* k) { EVP_PKEY_free(k); });
}

}  // namespace

absl::StatusOr<PrivateKey> PrivateKey::Generate() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  if (key == nullptr) return absl::InternalError(absl::StrCat("make an EC P-256 key: ", OpensslReason()));
  return PrivateKey(Shared(key));
}

absl::StatusOr<PrivateKey> PrivateKey::FromPem(const std::string& pem) {
  const BioPtr bio = ReadFrom(pem);
  // An empty password: without it OpenSSL would ask on the terminal for the one of an encrypted key.
  char no_password[] = "";
  EVP_PKEY* key = bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_password) : nullptr;
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("read a private key: not an unencrypted PEM key (", OpensslReason(), ")"));
  }
  return PrivateKey(Shared(key));
}

std::string PrivateKey::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    std::abort();
  }
  return Contents(bio.get());
}

absl::StatusOr<std::string> PrivateKey::MakeRequest() const {
  const X509ReqPtr request(X509_REQ_new());
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key_.get()) != 1 ||
      X509_REQ_sign(request.get(), key_.get(), EVP_sha256()) <= 0) {
    return absl::InternalError(absl::StrCat("make a certificate request: ", OpensslReason()));
  }
  unsigned char* der = nullptr;
  const int size = i2d_X509_REQ(request.get(), &der);
  if (size <= 0) return absl::InternalError(absl::StrCat("encode a certificate request: ", OpensslReason()));
  std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

}  // namespace fleetmark
