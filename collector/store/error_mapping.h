// From what libpq and libpqxx report to what the rest of the program understands: the one place that does.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fleetmark::collector {

enum class ErrorKind {
  kConnection,  // the connection is gone or was not made: build a new one and try again
  kConflict,    // serialization failure, deadlock: try the transaction again
  kBusy,        // too many connections: wait and try again
  kFull,        // disk full, read-only: nothing to be done here; try again later
  kTimeout,     // the statement took too long
  kAccess,      // wrong password, role, database or privilege
  kData,        // the database refused the data
  kOurs,        // our own SQL or reading of it is wrong
};

struct ErrorInfo {
  ErrorKind kind = ErrorKind::kOurs;
  std::string sqlstate;  // may be empty
  std::string text;      // one line, without secrets

  // "what: text", with the code that callers act on.
  absl::Status ToStatus(std::string_view what) const;
};

// For exceptions from the client library, and from our reading of results.
ErrorInfo ExplainError(const std::exception& error);

// `connection_lost`: the client library says so. A server's SQLSTATE outweighs it; without one the text decides, since
// errors from before the session exists come without.
ErrorInfo ClassifyError(std::string_view sqlstate, std::string_view text, bool connection_lost);

}  // namespace fleetmark::collector
