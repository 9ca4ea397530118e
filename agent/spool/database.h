// Database and Statement: the few calls of SQLite that the spool needs, with errors that name file, action and way out.
//
// Owned by SqliteSpool, which holds its mutex around every call; not thread-safe. SQLite is used nowhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fleetmark::agent {

class Database;

// A prepared statement. Bind everything, then Step until it returns false. Errors are kept: they come out of Step.
class Statement {
 public:
  Statement(Statement&&) noexcept = default;

  Statement& Bind(int64_t value);
  Statement& Bind(std::string_view bytes);  // as a blob; must live until the last Step

  // True: a row is there. False: done.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Run();

  int64_t Integer(int column) const;
  std::string_view Bytes(int column) const;  // until the next Step

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Database* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_parameter_ = 1;
};

class Database {
 public:
  // Opens or creates. DataLoss: the file is damaged or no database. Unavailable: cannot be opened or written.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `sql` is a constant of ours, one or several statements.
  absl::Status Execute(const char* sql);
  absl::StatusOr<Statement> Prepare(const char* sql);

  // What SQLite's result code means, said with the file's name. `action` is "write to", "read", ...
  absl::Status Error(int code, std::string_view action) const;

  const std::string& path() const { return path_; }

 private:
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  const std::string path_;
  sqlite3* const handle_;
};

// BEGIN IMMEDIATE ... COMMIT; rolled back by the destructor if Commit was not reached.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  ~Transaction();

  absl::Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace fleetmark::agent
