#include "common/pki/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl_pointers.h"
#include "common/pki/random.h"

namespace fleetmark {
namespace {

std::string EncodeDer(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::string EncodePem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return {};
  return Contents(bio.get());
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm tm{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1) return absl::InfinitePast();
  return absl::FromTM(tm, absl::UTCTimeZone());
}

std::string SerialHex(X509* certificate) {
  const NumberPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (!number) return {};
  std::string bytes(static_cast<size_t>(BN_num_bytes(number.get())), '\0');
  BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  std::string hex = ToHex(bytes);
  const size_t first = hex.find_first_not_of('0');
  return first == std::string::npos ? "0" : hex.substr(first);
}

void ReadAlternativeNames(X509* certificate, CertificateInfo& info) {
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->type == GEN_DNS ? name->d.dNSName : name->d.uniformResourceIdentifier;
    std::string value(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<size_t>(ASN1_STRING_length(text)));
    (name->type == GEN_DNS ? info.dns_names : info.uri_names).push_back(std::move(value));
  }
}

}  // namespace

absl::StatusOr<CertificateInfo> DescribeCertificate(const std::string& pem) {
  const X509Ptr certificate = ParseCertificate(pem);
  if (!certificate) return absl::InvalidArgumentError("read a certificate: not a PEM certificate");
  CertificateInfo info;
  char common_name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, common_name, sizeof(common_name));
  info.common_name = common_name;
  info.serial_hex = SerialHex(certificate.get());
  info.fingerprint_hex = Sha256Hex(EncodeDer(certificate.get()));
  info.not_before = ToTime(X509_get0_notBefore(certificate.get()));
  info.not_after = ToTime(X509_get0_notAfter(certificate.get()));
  ReadAlternativeNames(certificate.get(), info);
  info.is_ca = X509_check_ca(certificate.get()) == 1;
  if ((X509_get_extension_flags(certificate.get()) & EXFLAG_XKUSAGE) != 0) {
    const uint32_t usage = X509_get_extended_key_usage(certificate.get());
    info.may_serve = (usage & XKU_SSL_SERVER) != 0;
    info.may_connect = (usage & XKU_SSL_CLIENT) != 0;
  }
  ERR_clear_error();
  return info;
}

absl::StatusOr<std::vector<std::string>> SplitChain(const std::string& pem) {
  std::vector<std::string> chain;
  const BioPtr bio = ReadFrom(pem);
  while (true) {
    const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    chain.push_back(EncodePem(certificate.get()));
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  const std::string reason = OpensslReason();
  if (chain.empty()) return absl::InvalidArgumentError("read a certificate chain: there is no PEM certificate in it");
  if (!at_end) return absl::InvalidArgumentError(absl::StrCat("read a certificate chain: ", reason));
  return chain;
}

absl::StatusOr<std::string> PemToDer(const std::string& pem) {
  const X509Ptr certificate = ParseCertificate(pem);
  if (!certificate) return absl::InvalidArgumentError("read a certificate: not a PEM certificate");
  return EncodeDer(certificate.get());
}

absl::StatusOr<std::string> DerToPem(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const X509Ptr certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (!certificate || at != reinterpret_cast<const unsigned char*>(der.data()) + der.size()) {
    return absl::InvalidArgumentError(absl::StrCat("read a certificate: not DER (", OpensslReason(), ")"));
  }
  return EncodePem(certificate.get());
}

absl::Status CheckSignedBy(const std::string& chain_pem, const std::string& ca_pem) {
  const X509Ptr leaf = ParseCertificate(chain_pem);
  const X509Ptr ca = ParseCertificate(ca_pem);
  if (!leaf || !ca) return absl::InvalidArgumentError("check a signature: not a PEM certificate");
  if (X509_check_ca(ca.get()) != 1) return absl::FailedPreconditionError("the signing certificate is not a CA's");
  const bool good =
      X509_check_issued(ca.get(), leaf.get()) == X509_V_OK && X509_verify(leaf.get(), X509_get0_pubkey(ca.get())) == 1;
  ERR_clear_error();
  if (!good) return absl::FailedPreconditionError("the certificate is not signed by this CA");
  return absl::OkStatus();
}

absl::Status CheckKeyMatches(const std::string& chain_pem, const PrivateKey& key) {
  const X509Ptr leaf = ParseCertificate(chain_pem);
  if (!leaf) return absl::InvalidArgumentError("check a key: not a PEM certificate");
  const bool good = X509_check_private_key(leaf.get(), key.get()) == 1;
  ERR_clear_error();
  if (!good) return absl::FailedPreconditionError("the private key is not the certificate's");
  return absl::OkStatus();
}

}  // namespace fleetmark
