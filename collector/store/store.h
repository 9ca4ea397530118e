// The store as one object: opens the database, migrates it, owns the pool, hands out the stores.
//
// Owned by the collector. Open() may take as long as `connect_deadline`; afterwards a database that goes away makes
// calls fail with UNAVAILABLE until it is back: the pool reconnects by itself. Destroy after all users.
#pragma once

#include <memory>

#include "collector/store/host_store.h"
#include "collector/store/result_store.h"
#include "collector/store/run_store.h"
#include "collector/store/trust_store.h"

namespace fleetmark::collector {

struct DatabaseOptions {
  std::string dsn;  // libpq connection string or URI, without a password in logs
  unsigned pool_size = 8;
  absl::Duration connect_deadline = absl::Seconds(30);
  absl::Duration statement_timeout = absl::Seconds(30);
};

struct Notification {
  enum class Kind { kRun, kTask, kHost, kProgress } kind = Kind::kRun;
  std::string id;  // kRun, kProgress: a run's; kHost, kTask (look for work and cancels): a host's
};

class Store {
 public:
  // Migrates under an advisory lock. FAILED_PRECONDITION: the schema is newer than this program (names both), or the
  // database holds tables that are not ours. UNAUTHENTICATED: wrong password or role, with how to give one.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const DatabaseOptions& options);
  virtual ~Store() = default;

  virtual HostStore& hosts() = 0;
  virtual RunStore& runs() = 0;
  virtual ResultStore& results() = 0;
  virtual TrustStore& trust() = 0;
  virtual SuiteStore& suites() = 0;

  // Calls `callback` on the listener's own thread for each notification, and with (kRun, "") after every (re)connection
  // and every 2 s, since notifications are hints: the caller looks at the rows. Once, before the first use.
  virtual void Listen(std::function<void(const Notification&)> callback) = 0;
  virtual void StopListening() = 0;  // joins the thread; idempotent

  virtual absl::Status Check() = 0;  // a round trip: is the database there?
};

}  // namespace fleetmark::collector
