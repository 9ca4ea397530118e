#include "collector/store/migrate.h"

#include "absl/strings/str_cat.h"
#include "common/log/log.h"

namespace fleetmark::collector {
namespace {

// Any number will do as long as nobody changes it: "fleetmar" in ASCII.
constexpr char kLock[] = "SELECT pg_advisory_xact_lock(7380952487683826034)";

absl::Status RefuseForeign(Transaction& transaction) {
  const Rows version = transaction.Exec("SELECT current_setting('server_version_num')::int, version()");
  if (version[0].Int(0) < 130000) {
    return absl::FailedPreconditionError(absl::StrCat("the database server is too old: ", version[0].Text(1),
                                                      "; fleetmark needs PostgreSQL 13 or newer"));
  }
  const Rows foreign = transaction.Exec(
      "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
      " WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'"
      " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid"
      "                 AND d.deptype = 'e') ORDER BY 1 LIMIT 1");
  if (!foreign.empty()) {
    const Rows name = transaction.Exec("SELECT current_database()");
    return absl::FailedPreconditionError(absl::StrCat(
        "database '", name[0].Text(0), "' is not ours: it holds tables of something else (", foreign[0].Text(0),
        ") and no fleetmark schema; create an empty one for fleetmark (createdb fleetmark) and give that"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> CurrentVersion(Transaction& transaction) {
  if (transaction.Exec("SELECT to_regclass('fleetmark.schema_version')")[0].IsNull(0)) {
    if (absl::Status status = RefuseForeign(transaction); !status.ok()) return status;
    transaction.ExecScript(
        "CREATE SCHEMA IF NOT EXISTS fleetmark;"
        "CREATE TABLE fleetmark.schema_version (version bigint PRIMARY KEY, name text NOT NULL,"
        " applied_at timestamptz NOT NULL DEFAULT now())");
    return 0;
  }
  return transaction.Exec("SELECT coalesce(max(version), 0) FROM fleetmark.schema_version")[0].Int(0);
}

}  // namespace

absl::Status Migrate(Database& database, const std::vector<Migration>& migrations) {
  const int newest = migrations.empty() ? 0 : migrations.back().number;
  bool done = false;
  while (!done) {
    const Migration* applied = nullptr;
    absl::Status status =
        database.Transact("prepare the database's schema",
                          [&](Transaction& transaction) -> absl::Status {
                            applied = nullptr;
                            transaction.Exec(kLock);
                            const absl::StatusOr<int> version = CurrentVersion(transaction);
                            if (!version.ok()) return version.status();
                            if (*version > newest) {
                              return absl::FailedPreconditionError(absl::StrCat(
                                  "the database's schema has version ", *version, ", this program knows up to ", newest,
                                  ": a newer fleetmark-collector has used it; use that version or newer"));
                            }
                            done = *version == newest;
                            if (done) return absl::OkStatus();
                            for (const Migration& migration : migrations) {
                              if (migration.number <= *version) continue;
                              transaction.ExecScript(migration.sql);
                              transaction.Exec("INSERT INTO fleetmark.schema_version (version, name) VALUES ($1, $2)",
                                               Args(migration.number, migration.name));
                              applied = &migration;
                              break;
                            }
                            return absl::OkStatus();
                          },
                          {.statement_timeout = absl::ZeroDuration()});
    if (!status.ok()) return status;
    if (applied != nullptr) LogInfo("store", absl::StrCat("database schema: applied ", applied->name));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::collector
