#include "agent/spool/database.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {
namespace {

std::string Describe(const std::string& path, std::string_view action, const char* what, int system_errno) {
  std::string text = absl::StrCat(std::string(action), " spool ", path, ": ", what);
  if (system_errno != 0) absl::StrAppend(&text, " (", std::strerror(system_errno), ")");
  return text;
}

absl::Status MapError(int code, int system_errno, const std::string& path, std::string_view action, const char* what) {
  std::string text = Describe(path, action, what, system_errno);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(text, "; free space there or move the state with --state-dir"));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(text);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_IOERR:
      return absl::UnavailableError(
          absl::StrCat(text, "; make the directory writable or move the state with --state-dir"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(absl::StrCat(text, "; another process uses the file"));
    default:
      return absl::InternalError(text);
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), next_parameter_++, value);
  return *this;
}

Statement& Statement::Bind(std::string_view bytes) {
  // A null pointer would be NULL, not an empty blob.
  sqlite3_bind_blob64(statement_.get(), next_parameter_++, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error(code, sqlite3_stmt_readonly(statement_.get()) != 0 ? "read" : "write to");
}

absl::Status Statement::Run() {
  const absl::StatusOr<bool> row = Step();
  return row.status();
}

int64_t Statement::Integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->Error(code, "open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 2000);
  return database;
}

Database::~Database() { sqlite3_close_v2(handle_); }

absl::Status Database::Execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "write to");
}

absl::StatusOr<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return Error(code, "read");
  return Statement(this, statement);
}

absl::Status Database::Error(int code, std::string_view action) const {
  if (handle_ == nullptr) return MapError(code, 0, path_, action, sqlite3_errstr(code));
  // The call that failed may not have been one to the system: then its errno is an old one.
  const int kind = code & 0xff;
  const bool of_system = kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_FULL;
  return MapError(code, of_system ? sqlite3_system_errno(handle_) : 0, path_, action, sqlite3_errmsg(handle_));
}

absl::StatusOr<Transaction> Transaction::Begin(Database& database) {
  absl::Status status = database.Execute("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  return Transaction(&database);
}

Transaction::~Transaction() {
  // SQLite has rolled back by itself after some errors; then this one fails, and that is all right.
  if (database_ != nullptr) (void)database_->Execute("ROLLBACK");
}

absl::Status Transaction::Commit() {
  absl::Status status = database_->Execute("COMMIT");
  if (status.ok()) database_ = nullptr;
  return status;
}

}  // namespace fleetmark::agent
