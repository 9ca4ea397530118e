// Owners for OpenSSL's objects, and its error queue as a text. Private to the sources of common/pki and common/rpc.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace fleetmark {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using X509ReqPtr = std::unique_ptr<X509_REQ, FreeWith<X509_REQ_free>>;
using NamePtr = std::unique_ptr<X509_NAME, FreeWith<X509_NAME_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;

// A read-only BIO over `text`, which must outlive it.
BioPtr ReadFrom(const std::string& text);
std::string Contents(BIO* memory);

// What OpenSSL says about the last failure on this thread, in one line; empties its queue.
std::string OpensslReason();

// The first certificate in a PEM text, or null.
X509Ptr ParseCertificate(const std::string& pem);

}  // namespace fleetmark
