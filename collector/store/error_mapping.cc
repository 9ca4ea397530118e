#include "collector/store/error_mapping.h"

#include <initializer_list>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

// libpq's messages run over several lines, repeat themselves, and begin with ERROR: or FATAL:.
std::string OneLine(std::string_view text) {
  const absl::string_view whole(text.data(), text.size());
  std::vector<std::string> parts;
  for (const absl::string_view line : absl::StrSplit(whole, '\n')) {
    std::string part(absl::StripAsciiWhitespace(line));
    for (const char* prefix : {"ERROR:", "FATAL:"}) {
      if (absl::StartsWith(part, prefix)) part = std::string(absl::StripAsciiWhitespace(part.substr(6)));
    }
    const bool repeated = !parts.empty() && parts.back() == part;
    if (!part.empty() && part != "^" && !absl::StartsWith(part, "LINE ") && !repeated) parts.push_back(part);
    if (parts.size() == 4) break;
  }
  return RedactDsn(EscapeForTerminal(absl::StrJoin(parts, "; ")));
}

bool Says(std::string_view text, std::initializer_list<const char*> phrases) {
  for (const char* phrase : phrases) {
    if (absl::StrContains(absl::string_view(text.data(), text.size()), phrase)) return true;
  }
  return false;
}

ErrorKind KindOfState(std::string_view state) {
  const std::string_view group = state.substr(0, 2);
  if (state == "53300") return ErrorKind::kBusy;
  if (state == "40001" || state == "40P01" || state == "55P03") return ErrorKind::kConflict;
  if (state == "57014" || state == "25P03") return ErrorKind::kTimeout;
  if (group == "08" || state == "57P01" || state == "57P02" || state == "57P03" || state == "57P05") {
    return ErrorKind::kConnection;
  }
  if (group == "53" || group == "58" || state == "25006") return ErrorKind::kFull;
  if (group == "28" || state == "3D000" || state == "42501") return ErrorKind::kAccess;
  if (group == "22" || group == "23") return ErrorKind::kData;
  return ErrorKind::kOurs;
}

ErrorKind KindOfText(std::string_view text) {
  if (Says(text, {"too many clients", "remaining connection slots", "too many connections"})) return ErrorKind::kBusy;
  if (Says(text, {"read-only"})) return ErrorKind::kFull;
  if (Says(text, {"authentication failed", "no password supplied", "no pg_hba.conf entry", "is not permitted to log in",
                  "does not exist", "fe_sendauth", "definition of service", "certificate verify failed"}) &&
      !Says(text, {"No such file or directory"})) {
    return ErrorKind::kAccess;
  }
  return ErrorKind::kConnection;
}

}  // namespace

ErrorInfo ClassifyError(std::string_view sqlstate, std::string_view text, bool connection_lost) {
  ErrorInfo info;
  info.sqlstate = std::string(sqlstate);
  info.text = OneLine(text);
  // What libpqxx 6.4 says of a connection that was cut.
  if (Says(info.text, {"Could not obtain client encoding"})) info.text = "lost the connection to the database server";
  // No SQLSTATE: the server did not answer, whatever the class of the exception.
  info.kind = sqlstate.empty() || (connection_lost && KindOfState(sqlstate) == ErrorKind::kOurs)
                  ? KindOfText(text)
                  : KindOfState(sqlstate);
  return info;
}

absl::Status ErrorInfo::ToStatus(std::string_view what) const {
  std::string message = absl::StrCat(std::string(what), ": ", text);
  switch (kind) {
    case ErrorKind::kConnection:
      return absl::UnavailableError(
          absl::StrCat(message, "; the collector does not reach PostgreSQL: start it, or mend the way to it"));
    case ErrorKind::kConflict:
    case ErrorKind::kBusy:
    case ErrorKind::kTimeout:
      return absl::UnavailableError(message);
    case ErrorKind::kFull:
      return absl::UnavailableError(absl::StrCat(message, sqlstate == "25006" || absl::StrContains(text, "read-only")
                                                              ? "; the database takes no writes (a standby, or a quota)"
                                                              : "; free space on the database's disk"));
    case ErrorKind::kAccess:
      if (sqlstate == "42501") {
        return absl::PermissionDeniedError(absl::StrCat(message, "; grant it to the role, or connect as the owner"));
      }
      if (absl::StrContains(text, "definition of service")) {
        return absl::UnauthenticatedError(
            absl::StrCat(message, "; define it in ~/.pg_service.conf (or the file that PGSERVICEFILE names)"));
      }
      return absl::UnauthenticatedError(
          absl::StrCat(message, absl::StrContains(text, "does not exist")
                                    ? "; create role and database first (createuser, createdb)"
                                    : "; give the password with PGPASSWORD, a ~/.pgpass file (PGPASSFILE) or a service "
                                      "(pg_service.conf)"));
    case ErrorKind::kData:
      if (sqlstate == "23505") return absl::AlreadyExistsError(message);
      if (sqlstate == "23503") return absl::FailedPreconditionError(message);
      return absl::InvalidArgumentError(message);
    case ErrorKind::kOurs:
      break;
  }
  return absl::InternalError(message);
}

}  // namespace fleetmark::collector
