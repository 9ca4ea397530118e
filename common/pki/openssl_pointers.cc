#include "common/pki/openssl_pointers.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace fleetmark {

BioPtr ReadFrom(const std::string& text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string Contents(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

std::string OpensslReason() {
  // The first entry is the cause; the later ones are the callers that passed it on.
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  if (reason != nullptr) return reason;
  char text[256];
  ERR_error_string_n(code, text, sizeof(text));
  return text;
}

X509Ptr ParseCertificate(const std::string& pem) {
  const BioPtr bio = ReadFrom(pem);
  X509Ptr certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!certificate) ERR_clear_error();
  return certificate;
}

}  // namespace fleetmark
