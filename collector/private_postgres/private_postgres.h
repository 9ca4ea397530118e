// PrivatePostgres: the collector's own PostgreSQL server. Made on first use, reached through a Unix socket only (no TCP
// port), never run as root, started again when it dies, stopped with the collector however the collector ends.
//
// Owned by the collector, above the store (the store is destroyed first). Start() returns when the server accepts
// connections; from then on one thread of ours supervises it. dsn() never changes, also over a restart of the server.
// All methods may be called from any thread. Shutdown() (or the destructor, with ten seconds) ends the server.
//
// What can go wrong: no server programs (NOT_FOUND), data of another major version (FAILED_PRECONDITION, with the
// steps), no account to run under or a directory it may not enter (as root), and whatever the server itself writes to
// <state directory>/postgres.log, whose last lines are in the error.
//
// REQUIRES: the caller holds the lock of the state directory (common/lifecycle/directory_lock.h); a postmaster that
// still runs there is one of a collector that was killed, and is stopped.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/private_postgres/account.h"
#include "collector/private_postgres/binaries.h"
#include "common/lifecycle/stop_signal.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

struct PrivatePostgresOptions {
  std::string state_directory;  // absolute and existing; data goes to <state_directory>/postgres
  absl::Duration start_deadline = absl::Seconds(60);
  unsigned max_connections = 60;
  std::vector<std::string> settings;  // further ones of the server, "work_mem=8MB"; they come last and win
};

class PrivatePostgres {
 public:
  static absl::StatusOr<std::unique_ptr<PrivatePostgres>> Start(const PrivatePostgresOptions& options);
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  // A libpq connection string; holds no secret.
  const std::string& dsn() const { return dsn_; }

  // Fast shutdown; a server that is not gone by the deadline is ended harder, and the status says so (its data is safe:
  // it recovers at the next start). Idempotent.
  absl::Status Shutdown(absl::Duration deadline);

  // Of the postmaster that runs now; 0 between two of them.
  pid_t postmaster_pid() const;
  // How often the server was started again after it had died.
  unsigned restarts() const;

 private:
  explicit PrivatePostgres(const PrivatePostgresOptions& options) : options_(options) {}

  absl::Status Prepare();  // all up to the first start; on the supervising thread
  absl::StatusOr<pid_t> Launch();
  absl::Status AwaitReady(pid_t pid, absl::Time deadline);
  absl::Status StartServer();  // one or more launches until one is ready
  void Supervise();            // the thread
  int AwaitExitOrStop(pid_t pid);
  void StopServer(pid_t pid);
  void SetPid(pid_t pid);

  // Constant after Start().
  const PrivatePostgresOptions options_;
  std::string data_directory_;
  std::string log_path_;
  std::string socket_directory_;
  std::string dsn_;
  PostgresBinaries binaries_;
  std::optional<Account> account_;

  StopSignal stop_;
  std::thread thread_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool started_ GUARDED_BY(mutex_) = false;
  absl::Status start_status_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  absl::Time stop_deadline_ GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Status stop_status_ GUARDED_BY(mutex_);
  pid_t pid_ GUARDED_BY(mutex_) = 0;
  unsigned restarts_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetmark::collector
