// A real PostgreSQL for tests: one private server per test binary, started on first use and stopped after the last
// test; a database of its own for each test that asks. Works as root (the server runs as another user) and as anybody
// else.
#pragma once

#include <string>
#include <vector>

#include "collector/private_postgres/private_postgres.h"

namespace fleetmark::testing {

// The server, or a CHECK-like abort with the reason if it cannot be started: tests of the store are worth nothing
// without.
collector::PrivatePostgres& TestServer();

// Data source names of new databases: empty; and with fleetmark's schema (a copy of one that was migrated once).
std::string NewEmptyDatabase();
std::string NewDatabase();

// With all connections to it: many databases make recovery after a kill slow.
void DropDatabase(const std::string& dsn);

// The same server and another database: replaces dbname.
std::string DsnOf(const std::string& database);

// A directory that every user may enter, removed with the object.
class SharedTempDirectory {
 public:
  SharedTempDirectory();
  ~SharedTempDirectory();
  SharedTempDirectory(const SharedTempDirectory&) = delete;
  SharedTempDirectory& operator=(const SharedTempDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs statements on a connection of its own and returns the rows of the last one as text ("NULL" for NULL). An error
// gives one row "ERROR", its SQLSTATE and its text.
std::vector<std::vector<std::string>> Sql(const std::string& dsn, const std::string& statements);
// The first value of the first row.
std::string SqlValue(const std::string& dsn, const std::string& statements);

}  // namespace fleetmark::testing
