// Database: a bounded pool of connections, and the way every statement goes: one transaction a call, retried where a
// second try can help.
//
// Owned by the store. Transact() may be called from any thread and blocks it; a thread uses one connection at a time
// (calls do not nest). A connection that failed is destroyed; the next call builds a new one. After Open() the database
// may come and go: calls fail with UNAVAILABLE while it is away. The statement timeout does not cover the commit
// itself: one that waits for a synchronous standby waits as long as that does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/store/connection.h"
#include "collector/store/error_mapping.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

struct TransactOptions {
  bool durable = true;                                             // false: commit without waiting for the disk
  std::optional<absl::Duration> statement_timeout = std::nullopt;  // instead of the database's; zero: none
};

class Database {
 public:
  struct Options {
    std::string connection_string;  // completed (dsn.h)
    unsigned pool_size = 8;
    absl::Duration statement_timeout = absl::Seconds(30);
    absl::Duration retry_for = absl::Seconds(5);        // how long a call outlasts a database that is away
    absl::Duration busy_retry_for = absl::Seconds(60);  // the same while the server has no connection left for us
  };
  explicit Database(const Options& options) : options_(options) {}

  using Work = std::function<absl::Status(Transaction&)>;

  // Runs `work` in one transaction. `what` begins the message of an error: "create run". `work` may be run again from
  // the start: after a lost connection, a conflict, and also when a commit was sent and its outcome is unknown. So it
  // must begin by looking at what is there, and set all its results anew; then running it twice is as good as once.
  absl::Status Transact(const std::string& what, const Work& work, const TransactOptions& options = {});

  // The same for work that makes a value.
  template <typename T>
  absl::StatusOr<T> Query(const std::string& what, const std::function<absl::StatusOr<T>(Transaction&)>& work,
                          const TransactOptions& options = {}) {
    absl::StatusOr<T> result = absl::InternalError("not run");
    absl::Status status = Transact(
        what,
        [&](Transaction& transaction) {
          result = work(transaction);
          return result.status();
        },
        options);
    if (!status.ok()) return status;
    return result;
  }

  // For the tests: connections that exist just now.
  unsigned connections() const;

 private:
  absl::StatusOr<std::unique_ptr<Connection>> Borrow(const std::string& what);
  void GiveBack(std::unique_ptr<Connection> connection);  // nullptr: it was destroyed
  // One try. `*info` is set if it threw.
  absl::Status Try(const std::string& what, const std::string& settings, const Work& work,
                   std::optional<ErrorInfo>& info, bool& commit_sent);
  void Report(const absl::Status& status);

  const Options options_;
  mutable Mutex mutex_;
  CondVar returned_;
  std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
  unsigned count_ GUARDED_BY(mutex_) = 0;  // idle and lent
  bool seen_ GUARDED_BY(mutex_) = false;   // whoever opens it says himself why that does not succeed
  bool down_ GUARDED_BY(mutex_) = false;
  absl::Time last_report_ GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace fleetmark::collector
