// Authority: the fleet's CA as one collector sees it, and that collector's own serving certificate.
//
// Owned by the collector; destroy after its users. The first collector on a database makes the CA, keeps its key in
// <state>/pki/ca.key (0600) and is the one that signs. A collector that joined has a serving certificate only: it
// serves, but Issue* is FAILED_PRECONDITION there and names the way out. Thread-safe; calls that record block on the
// database.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/store/trust_store.h"
#include "common/pki/identity.h"
#include "common/pki/key.h"
#include "common/pki/tls_files.h"
#include "common/time/clock.h"

namespace fleetmark::collector {

// <state>/pki/{ca.pem,server.pem,server.key}: where a collector's serving identity lies, and where `join` writes it.
TlsFiles ServerFiles(const std::string& state_directory);

class Authority {
 public:
  // Makes, loads or joins the CA as the state directory and the database demand; makes or renews the serving
  // certificate. FAILED_PRECONDITION: this database's CA was made by another collector (join it), or the key in the
  // state directory is another CA's.
  static absl::StatusOr<std::unique_ptr<Authority>> Open(const std::string& state_directory, TrustStore& store,
                                                         const Clock& clock = SystemClock());

  const std::string& collector_id() const { return collector_id_; }
  const std::string& ca_pem() const { return ca_pem_; }
  const std::string& ca_fingerprint_hex() const { return ca_fingerprint_hex_; }
  const TlsFiles& server_files() const { return files_; }
  bool can_sign() const { return ca_key_.has_value(); }

  // Signs without recording: for TrustStore::Enroll, which records in its own transaction.
  absl::StatusOr<IssuedCertificate> Sign(const Identity& identity, const std::string& request_der) const;

  // Signs a new certificate for a peer that holds a valid one, and records it.
  absl::StatusOr<IssuedCertificate> RenewCertificate(const Identity& identity, const std::string& request_der,
                                                     const std::string& who);

  // Renews the serving certificate if less than 30 days are left; returns true if it did. The key stays, so that
  // ReloadingServerCredentials see one file change. To be called once a day.
  absl::StatusOr<bool> RenewServerCertificate();

  // Writes ca.pem, client.pem, client.key and client.textproto (v1.ClientConfig) for the local user, an admin, into
  // `config_directory`. What is there and still good is kept. ALREADY_EXISTS: the directory holds the configuration of
  // another fleet, which is left alone.
  absl::Status WriteLocalAdmin(const std::string& config_directory, const std::string& user_name,
                               const std::vector<std::string>& collectors);

 private:
  Authority(TlsFiles files, TrustStore& store, const Clock& clock)
      : files_(std::move(files)), store_(store), clock_(clock) {}

  absl::Status OpenAuthority(const std::string& key_file);
  absl::Status MakeAuthority(const std::string& key_file);
  absl::Status OpenServerIdentity();
  absl::Status IssueServerCertificate(const PrivateKey& key);

  const TlsFiles files_;
  TrustStore& store_;
  const Clock& clock_;
  // Constant after Open().
  std::optional<PrivateKey> ca_key_;
  std::string ca_pem_;
  std::string ca_fingerprint_hex_;
  std::string collector_id_;
};

}  // namespace fleetmark::collector
