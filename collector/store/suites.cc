#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_trust_store.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {

absl::Status PostgresSuiteStore::PutSuite(const v1::Suite& suite, const std::string& text, const std::string& who) {
  v1::Suite clean = suite;
  CleanMessage(clean);
  return database_.Transact("store the suite", [&](Transaction& transaction) -> absl::Status {
    // Two who add at once: the catalog has looked before, the row decides.
    const Rows put = transaction.Exec(
        "INSERT INTO fleetmark.suite (name, version, message, text, put_by) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (name) DO UPDATE SET version = excluded.version, message = excluded.message, text = "
        "excluded.text,"
        " put_by = excluded.put_by, put_at = now()"
        " WHERE suite.version < excluded.version OR (suite.version = excluded.version AND suite.message = "
        "excluded.message) RETURNING name",
        Args(clean.name(), clean.version(), Bytes{SerializeStable(clean)}, text, who));
    if (put.empty()) {
      return absl::AlreadyExistsError(absl::StrCat("suite ", clean.name(), "@", clean.version(),
                                                   " or a newer one is there already; give the changed text a newer "
                                                   "version"));
    }
    WriteAudit(transaction, who, "put suite", absl::StrCat(clean.name(), " ", clean.version()));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<v1::Suite>> PostgresSuiteStore::ListSuites() {
  return database_.Query<std::vector<v1::Suite>>(
      "list suites", [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::Suite>> {
        std::vector<v1::Suite> suites;
        for (const Row row : transaction.Exec("SELECT message FROM fleetmark.suite ORDER BY name")) {
          suites.emplace_back().ParseFromString(row.BytesAt(0));
        }
        return suites;
      });
}

}  // namespace fleetmark::collector
