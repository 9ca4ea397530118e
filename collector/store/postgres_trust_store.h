// TrustStore and SuiteStore over PostgreSQL. Stateless but for the database: thread-safe.
#pragma once

#include "collector/store/database.h"
#include "collector/store/trust_store.h"

namespace fleetmark::collector {

class PostgresTrustStore : public TrustStore {
 public:
  explicit PostgresTrustStore(Database& database) : database_(database) {}

  absl::StatusOr<std::string> GetAuthority() override;
  absl::Status PutAuthority(const std::string& ca_pem) override;
  absl::Status AddToken(const std::string& token_sha256_hex, const TokenGrant& grant, absl::Time expires,
                        const std::string& who) override;
  absl::StatusOr<Enrolled> Enroll(
      const std::string& token_sha256_hex, const std::string& reported_name,
      const std::function<absl::StatusOr<IssuedCertificate>(const TokenGrant&, const std::string& id)>& sign) override;
  absl::Status RecordCertificate(const IssuedCertificate& certificate, const std::string& who) override;
  absl::StatusOr<bool> IsRevoked(const std::string& serial_hex) override;
  absl::Status Audit(const std::string& who, const std::string& what, const std::string& detail) override;

 private:
  Database& database_;
};

class PostgresSuiteStore : public SuiteStore {
 public:
  explicit PostgresSuiteStore(Database& database) : database_(database) {}

  absl::Status PutSuite(const v1::Suite& suite, const std::string& text, const std::string& who) override;
  absl::StatusOr<std::vector<v1::Suite>> ListSuites() override;

 private:
  Database& database_;
};

}  // namespace fleetmark::collector
