#include "common/pki/issue.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/pki/certificate.h"
#include "common/pki/openssl_pointers.h"
#include "common/pki/random.h"

namespace fleetmark {
namespace {

absl::Status Failed(const char* what) { return absl::InternalError(absl::StrCat(what, ": ", OpensslReason())); }

bool SetTime(ASN1_TIME* field, absl::Time time) {
  const std::string text = absl::FormatTime("%Y%m%d%H%M%SZ", time, absl::UTCTimeZone());
  return ASN1_TIME_set_string_X509(field, text.c_str()) == 1;
}

bool SetRandomSerial(X509* certificate) {
  std::string bytes = RandomBytes(16);
  // The top bit would make the DER integer 17 bytes long; a leading zero byte would make it shorter than the rest.
  bytes[0] = static_cast<char>((static_cast<unsigned char>(bytes[0]) & 0x7f) | 0x40);
  const NumberPtr number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), 16, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetCommonName(X509* certificate, const std::string& common_name) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const std::string cut = common_name.substr(0, 64);  // the longest X.520 allows
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(cut.data()),
                                    static_cast<int>(cut.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

absl::StatusOr<std::string> Pem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return Failed("encode a certificate");
  return Contents(bio.get());
}

bool KeyIsStrong(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_EC:
      return EVP_PKEY_get_bits(key) == 256 || EVP_PKEY_get_bits(key) == 384;
    case EVP_PKEY_ED25519:
      return true;
    case EVP_PKEY_RSA:
      return EVP_PKEY_get_bits(key) >= 3072;
    default:
      return false;
  }
}

// The public key of a request that is signed with its own private key.
absl::StatusOr<X509ReqPtr> CheckedRequest(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  X509ReqPtr request(der.size() > 16384 ? nullptr : d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  if (!request) return absl::InvalidArgumentError("read a certificate request: not PKCS #10 in DER");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || !KeyIsStrong(key)) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "read a certificate request: its key must be EC P-256 or P-384, Ed25519, or RSA of at least 3072 bits");
  }
  const bool signed_by_itself = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  if (!signed_by_itself)
    return absl::InvalidArgumentError("read a certificate request: it is not signed with its own key");
  return request;
}

std::string AlternativeNames(const Identity& identity) {
  const std::string uri = absl::StrCat("URI:", ToUri(identity));
  if (identity.kind != IdentityKind::kCollector) return uri;
  return absl::StrCat("DNS:", std::string(kCollectorDnsName), ",", uri);
}

}  // namespace

absl::StatusOr<std::string> MakeAuthorityCertificate(const PrivateKey& key, const std::string& common_name,
                                                     absl::Time not_after) {
  const X509Ptr ca(X509_new());
  if (!ca || X509_set_version(ca.get(), X509_VERSION_3) != 1 || !SetRandomSerial(ca.get()) ||
      !SetCommonName(ca.get(), common_name) || X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) != 1 ||
      !SetTime(X509_getm_notBefore(ca.get()), absl::UnixEpoch()) || !SetTime(X509_getm_notAfter(ca.get()), not_after) ||
      X509_set_pubkey(ca.get(), key.get()) != 1 ||
      !AddExtension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(ca.get(), key.get(), EVP_sha256()) <= 0) {
    return Failed("make the CA's certificate");
  }
  return Pem(ca.get());
}

absl::StatusOr<IssuedLeaf> IssueLeaf(const PrivateKey& ca_key, const std::string& ca_pem,
                                     const std::string& request_der, const Identity& identity, absl::Time not_after) {
  absl::StatusOr<X509ReqPtr> request = CheckedRequest(request_der);
  if (!request.ok()) return request.status();
  // What goes into the certificate must read back as the same identity.
  const absl::StatusOr<Identity> canonical = ParseIdentityUri(ToUri(identity));
  if (!canonical.ok() || !(*canonical == identity)) {
    return absl::InvalidArgumentError("make a certificate: the name it is for is malformed");
  }
  const X509Ptr ca = ParseCertificate(ca_pem);
  if (!ca) return absl::InvalidArgumentError("make a certificate: the CA's is not a PEM certificate");

  const X509Ptr leaf(X509_new());
  const char* usage = identity.kind == IdentityKind::kCollector ? "serverAuth" : "clientAuth";
  if (!leaf || X509_set_version(leaf.get(), X509_VERSION_3) != 1 || !SetRandomSerial(leaf.get()) ||
      !SetCommonName(leaf.get(), identity.id) ||
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(ca.get())) != 1 ||
      !SetTime(X509_getm_notBefore(leaf.get()), absl::UnixEpoch()) ||
      !SetTime(X509_getm_notAfter(leaf.get()), not_after) ||
      X509_set_pubkey(leaf.get(), X509_REQ_get0_pubkey(request->get())) != 1 ||
      !AddExtension(leaf.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(leaf.get(), ca.get(), NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(leaf.get(), ca.get(), NID_ext_key_usage, usage) ||
      !AddExtension(leaf.get(), ca.get(), NID_subject_alt_name, AlternativeNames(identity)) ||
      !AddExtension(leaf.get(), ca.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(leaf.get(), ca.get(), NID_authority_key_identifier, "keyid") ||
      X509_sign(leaf.get(), ca_key.get(), EVP_sha256()) <= 0) {
    return Failed("make a certificate");
  }
  absl::StatusOr<std::string> pem = Pem(leaf.get());
  if (!pem.ok()) return pem.status();
  const absl::StatusOr<CertificateInfo> info = DescribeCertificate(*pem);
  if (!info.ok()) return info.status();
  return IssuedLeaf{*pem + ca_pem, info->serial_hex, info->not_after};
}

}  // namespace fleetmark
