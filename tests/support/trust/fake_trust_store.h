// FakeTrustStore: a TrustStore in memory, with the real one's rules (tokens are used up only if the signing succeeds).
// Time is the test's clock. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/trust_store.h"
#include "common/pki/random.h"
#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark::test {

class FakeTrustStore : public collector::TrustStore {
 public:
  using TokenGrant = collector::TokenGrant;
  using Enrolled = collector::Enrolled;
  using IssuedCertificate = collector::IssuedCertificate;

  explicit FakeTrustStore(const Clock& clock = SystemClock()) : clock_(clock) {}

  absl::StatusOr<std::string> GetAuthority() override {
    MutexLock lock(mutex_);
    if (!ca_pem_) return absl::NotFoundError("no authority");
    return *ca_pem_;
  }
  absl::Status PutAuthority(const std::string& ca_pem) override {
    MutexLock lock(mutex_);
    if (rival_) std::swap(ca_pem_, rival_);
    if (ca_pem_ && *ca_pem_ != ca_pem) return absl::AlreadyExistsError("another authority");
    ca_pem_ = ca_pem;
    return absl::OkStatus();
  }
  absl::Status AddToken(const std::string& sha256_hex, const TokenGrant& grant, absl::Time expires,
                        const std::string&) override {
    MutexLock lock(mutex_);
    tokens_[sha256_hex] = {grant, expires, false};
    return absl::OkStatus();
  }
  absl::StatusOr<Enrolled> Enroll(
      const std::string& sha256_hex, const std::string& reported_name,
      const std::function<absl::StatusOr<IssuedCertificate>(const TokenGrant&, const std::string&)>& sign) override {
    MutexLock lock(mutex_);
    ++enroll_calls_;
    if (!down_.ok()) return down_;
    const auto found = tokens_.find(sha256_hex);
    if (found == tokens_.end()) return absl::PermissionDeniedError("the token is unknown here");
    if (found->second.used) return absl::PermissionDeniedError("the token has been used already");
    if (found->second.expires <= clock_.Now()) return absl::PermissionDeniedError("the token has expired");
    Enrolled enrolled;
    enrolled.grant = found->second.grant;
    const bool person = enrolled.grant.kind == v1::INVITE_KIND_PERSON;
    enrolled.id = person ? enrolled.grant.person_name : NewUuid();
    enrolled.name = person ? enrolled.grant.person_name : reported_name;
    absl::StatusOr<IssuedCertificate> certificate = sign(enrolled.grant, enrolled.id);
    if (!certificate.ok()) return certificate.status();
    found->second.used = true;
    enrolled.certificate = *std::move(certificate);
    certificates_.push_back(enrolled.certificate);
    return enrolled;
  }
  absl::Status RecordCertificate(const IssuedCertificate& certificate, const std::string&) override {
    MutexLock lock(mutex_);
    if (!down_.ok()) return down_;
    certificates_.push_back(certificate);
    return absl::OkStatus();
  }
  absl::StatusOr<bool> IsRevoked(const std::string&) override { return false; }
  absl::Status Audit(const std::string&, const std::string&, const std::string&) override { return absl::OkStatus(); }

  // What a test sets and sees.
  void BeatTo(const std::string& ca_pem) {  // another collector's CA appears just before the next PutAuthority
    MutexLock lock(mutex_);
    rival_ = ca_pem;
  }
  void SetDown(absl::Status status) {
    MutexLock lock(mutex_);
    down_ = std::move(status);
  }
  std::vector<IssuedCertificate> certificates() const {
    MutexLock lock(mutex_);
    return certificates_;
  }
  std::vector<std::string> token_hashes() const {
    MutexLock lock(mutex_);
    std::vector<std::string> hashes;
    for (const auto& [hash, token] : tokens_) hashes.push_back(hash);
    return hashes;
  }
  int enroll_calls() const {
    MutexLock lock(mutex_);
    return enroll_calls_;
  }

 private:
  struct Token {
    TokenGrant grant;
    absl::Time expires;
    bool used = false;
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::optional<std::string> ca_pem_ GUARDED_BY(mutex_);
  std::optional<std::string> rival_ GUARDED_BY(mutex_);
  std::map<std::string, Token> tokens_ GUARDED_BY(mutex_);
  std::vector<IssuedCertificate> certificates_ GUARDED_BY(mutex_);
  absl::Status down_ GUARDED_BY(mutex_);
  int enroll_calls_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetmark::test
