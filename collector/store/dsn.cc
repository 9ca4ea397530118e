#include "collector/store/dsn.h"

#include <libpq-fe.h>

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text/text.h"

namespace fleetmark::collector {

absl::StatusOr<std::string> CompleteDsn(const std::string& dsn) {
  char* parse_error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfoParse(dsn.c_str(), &parse_error),
                                                                             &PQconninfoFree);
  if (options == nullptr) {
    // libpq's words quote what it could not read, which may be a part of a password: say less when in doubt.
    std::string reason = parse_error == nullptr ? "out of memory" : parse_error;
    PQfreemem(parse_error);
    if (dsn.find('@') != std::string::npos || dsn.find("pass") != std::string::npos) reason = "it cannot be parsed";
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    return absl::InvalidArgumentError(
        absl::StrCat("the database '", RedactDsn(dsn), "': ", reason,
                     "; use postgres://user@host/database, 'host=... dbname=...' or 'service=name'"));
  }
  std::map<std::string, std::string> values;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || option->val[0] == '\0') continue;
    const std::string keyword = option->keyword;
    if (keyword == "password" || keyword == "sslpassword") {
      return absl::InvalidArgumentError(absl::StrCat(
          "the database '", RedactDsn(dsn),
          "' contains a password, which other users could read; leave it out and give "
          "it with the environment variable PGPASSWORD, a ~/.pgpass file (PGPASSFILE) or a service (pg_service.conf)"));
    }
    values[keyword] = option->val;
  }
  const std::map<std::string, std::string> defaults = {
      {"connect_timeout", "5"},
      {"keepalives", "1"},
      {"keepalives_idle", "10"},
      {"keepalives_interval", "5"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "20000"},
      {"client_encoding", "UTF8"},
      {"target_session_attrs", "read-write"},
      {"application_name", "fleetmark-collector"},
  };
  values.insert(defaults.begin(), defaults.end());
  std::string out;
  for (const auto& [keyword, value] : values) {
    absl::StrAppend(&out, out.empty() ? "" : " ", keyword, "='",
                    absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  }
  return out;
}

}  // namespace fleetmark::collector
