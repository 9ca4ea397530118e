#include "collector/store/store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/store/database.h"
#include "collector/store/dsn.h"
#include "collector/store/listener.h"
#include "collector/store/migrate.h"
#include "collector/store/postgres_host_store.h"
#include "collector/store/postgres_result_store.h"
#include "collector/store/postgres_run_store.h"
#include "collector/store/postgres_trust_store.h"
#include "common/log/log.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

class PostgresStore : public Store {
 public:
  explicit PostgresStore(const Database::Options& options)
      : connection_string_(options.connection_string), database_(options) {}
  ~PostgresStore() override { PostgresStore::StopListening(); }

  Database& database() { return database_; }

  HostStore& hosts() override { return hosts_; }
  RunStore& runs() override { return runs_; }
  ResultStore& results() override { return results_; }
  TrustStore& trust() override { return trust_; }
  SuiteStore& suites() override { return suites_; }

  void Listen(std::function<void(const Notification&)> callback) override {
    listener_ = std::make_unique<Listener>(connection_string_, std::move(callback));
  }
  void StopListening() override { listener_.reset(); }

  absl::Status Check() override {
    return database_.Transact("reach the database",
                              [](Transaction& transaction) -> absl::Status {
                                transaction.Exec("SELECT 1");
                                return absl::OkStatus();
                              },
                              {.statement_timeout = absl::Seconds(5)});
  }

 private:
  const std::string connection_string_;
  Database database_;
  PostgresHostStore hosts_{database_};
  PostgresRunStore runs_{database_};
  PostgresResultStore results_{database_};
  PostgresTrustStore trust_{database_};
  PostgresSuiteStore suites_{database_};
  std::unique_ptr<Listener> listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const DatabaseOptions& options) {
  const absl::StatusOr<std::string> connection_string = CompleteDsn(options.dsn);
  if (!connection_string.ok()) return connection_string.status();
  Database::Options database_options;
  database_options.connection_string = *connection_string;
  database_options.pool_size = std::max(1U, options.pool_size);
  database_options.statement_timeout = options.statement_timeout;
  auto store = std::make_unique<PostgresStore>(database_options);
  const absl::Time deadline = absl::Now() + options.connect_deadline;
  while (true) {
    absl::Status status = Migrate(store->database(), Migrations());
    if (status.ok()) return store;
    // A database that is just starting is waited for; a wrong password, a foreign or newer schema is not.
    if (!absl::IsUnavailable(status) || absl::Now() >= deadline) {
      return absl::Status(status.code(), absl::StrCat("open the database '", RedactDsn(options.dsn),
                                                      "': ", std::string(status.message())));
    }
    absl::SleepFor(absl::Milliseconds(200));
  }
}

}  // namespace fleetmark::collector
