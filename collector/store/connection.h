// One connection to the database, and the transactions on it: the only place that includes libpqxx (6.4 and 7.x).
//
// Owned by the pool, used by one thread at a time. Every method throws what libpqxx throws (std::exception); the pool
// turns that into a status (error_mapping.h). After a BrokenConnection the object is of no more use: destroy it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collector/store/sql_values.h"

namespace fleetmark::collector {

class Transaction {
 public:
  virtual ~Transaction() = default;

  // One statement, with its parameters $1, $2 ... bound.
  virtual Rows Exec(const std::string& statement, const Args& args = Args()) = 0;
  // Several statements, without parameters.
  virtual void ExecScript(const std::string& statements) = 0;

  // Runs `work` inside a savepoint. If the data is refused (SQLSTATE 22 or 23, or `work` returns an error) the
  // savepoint is rolled back and the status returned; the transaction goes on. Anything else is thrown.
  virtual absl::Status Attempt(const std::function<absl::Status()>& work) = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Begins, runs `work`, commits if it returned OK and rolls back if not. Sets `*commit_sent` before the commit: what
  // is thrown from then on leaves the outcome unknown.
  virtual absl::Status RunTransaction(const std::string& settings,
                                      const std::function<absl::Status(Transaction&)>& work, bool* commit_sent) = 0;
};

// Throws if the server cannot be reached.
std::unique_ptr<Connection> Connect(const std::string& connection_string);

}  // namespace fleetmark::collector
