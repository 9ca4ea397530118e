// PrivateKey: an EC P-256 key, and PKCS #10 requests made with it. Immutable; copies share the key; thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct evp_pkey_st;

namespace fleetmark {

class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Generate();
  static absl::StatusOr<PrivateKey> FromPem(const std::string& pem);

  std::string ToPem() const;  // PKCS #8, unencrypted

  // A signed request (DER) that proves possession of this key. It carries no names: who it is for is the signer's.
  absl::StatusOr<std::string> MakeRequest() const;

  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace fleetmark
