#include "collector/store/database.h"

#include <signal.h>

#include <atomic>
#include <thread>

#include "collector/store/dsn.h"
#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::fleetmark::testing::NewEmptyDatabase;
using ::fleetmark::testing::Sql;
using ::fleetmark::testing::SqlValue;
using ::testing::HasSubstr;

std::unique_ptr<Database> OpenPool(const std::string& dsn, unsigned pool_size = 4,
                                   absl::Duration retry_for = absl::Seconds(20)) {
  Database::Options options;
  options.connection_string = *CompleteDsn(dsn);
  options.pool_size = pool_size;
  options.retry_for = retry_for;
  return std::make_unique<Database>(options);
}

absl::Status Insert(Database& database, int value) {
  return database.Transact("insert", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING", Args(value));
    return absl::OkStatus();
  });
}

// C-118: more threads than connections, each transaction for itself.
TEST(DatabaseTest, ManyThreadsShareABoundedPool) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  auto database = OpenPool(dsn, 3);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 20; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) failed += Insert(*database, thread * 10 + i).ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM t"), "200");
  EXPECT_LE(database->connections(), 3U);
}

TEST(DatabaseTest, AFailedTransactionLeavesNothing) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  auto database = OpenPool(dsn);
  const absl::Status ours = database->Transact("try", [](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO t VALUES (1)");
    return absl::NotFoundError("changed my mind");
  });
  EXPECT_EQ(ours, absl::NotFoundError("changed my mind"));
  const absl::Status theirs = database->Transact("try again", [](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO t VALUES (1)");
    transaction.Exec("INSERT INTO t VALUES (1)");
    return absl::OkStatus();
  });
  EXPECT_EQ(theirs.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM t"), "0");
  EXPECT_TRUE(Insert(*database, 1).ok());
}

TEST(DatabaseTest, ATransactionInsideATransactionIsRefused) {
  auto database = OpenPool(NewEmptyDatabase(), 1);
  const absl::Status status =
      database->Transact("outer", [&](Transaction&) -> absl::Status { return Insert(*database, 1); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST(DatabaseTest, ASavepointKeepsTheTransactionGoing) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  auto database = OpenPool(dsn);
  absl::Status inner;
  const absl::Status outer = database->Transact("outer", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO t VALUES (1)");
    inner = transaction.Attempt([&]() -> absl::Status {
      transaction.Exec("INSERT INTO t VALUES (2)");
      transaction.Exec("INSERT INTO t VALUES (1)");
      return absl::OkStatus();
    });
    transaction.Exec("INSERT INTO t VALUES (3)");
    return absl::OkStatus();
  });
  EXPECT_TRUE(outer.ok()) << outer;
  EXPECT_EQ(inner.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(SqlValue(dsn, "SELECT string_agg(x::text, ',' ORDER BY x) FROM t"), "1,3");
}

// C-115: the session is ended between two transactions, and inside one.
TEST(DatabaseTest, ABackendThatIsTerminatedIsReplaced) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  auto database = OpenPool(dsn, 2);
  ASSERT_TRUE(Insert(*database, 1).ok());
  Sql(dsn,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fleetmark-collector'"
      " AND datname = current_database()");
  EXPECT_TRUE(Insert(*database, 2).ok());
  int tries = 0;
  const absl::Status status = database->Transact("die once", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec("INSERT INTO t VALUES (3)");
    if (++tries == 1) transaction.Exec("SELECT pg_terminate_backend(pg_backend_pid())");
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM t"), "3");
}

// The first try loses its connection in the commit itself, all later ones before: whether it holds stays unknown.
TEST(DatabaseTest, ACommitInDoubtIsToldAlsoIfTheLastTryGotNoFurther) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  Sql(dsn,
      "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
  Sql(dsn,
      "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
      " EXECUTE FUNCTION die()");
  auto database = OpenPool(dsn, 1, absl::Milliseconds(300));
  int tries = 0;
  const absl::Status status = database->Transact("die", [&](Transaction& transaction) -> absl::Status {
    transaction.Exec(++tries == 1 ? "INSERT INTO t VALUES (1)" : "SELECT pg_terminate_backend(pg_backend_pid())");
    return absl::OkStatus();
  });
  EXPECT_GT(tries, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("whether it was committed is not known"));
}

TEST(DatabaseTest, DeadlocksAreTriedAgain) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)");
  auto database = OpenPool(dsn);
  const auto update = [&](int first, int second) {
    return database->Transact("update", [&](Transaction& transaction) -> absl::Status {
      transaction.Exec("SET LOCAL deadlock_timeout = '50ms'");
      transaction.Exec("UPDATE t SET n = n + 1 WHERE x = $1", Args(first));
      transaction.Exec("SELECT pg_sleep(0.1)");
      transaction.Exec("UPDATE t SET n = n + 1 WHERE x = $1", Args(second));
      return absl::OkStatus();
    });
  };
  absl::Status other;
  std::thread thread([&] { other = update(2, 1); });
  EXPECT_TRUE(update(1, 2).ok());
  thread.join();
  EXPECT_TRUE(other.ok()) << other;
  EXPECT_EQ(SqlValue(dsn, "SELECT min(n) FROM t"), "2");
}

// C-117
TEST(DatabaseTest, AStatementThatTakesTooLongIsGivenUp) {
  auto database = OpenPool(NewEmptyDatabase());
  const absl::Status status = database->Transact("sleep",
                                                 [](Transaction& transaction) -> absl::Status {
                                                   transaction.Exec("SELECT pg_sleep(60)");
                                                   return absl::OkStatus();
                                                 },
                                                 {.statement_timeout = absl::Milliseconds(50)});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("statement timeout"));
}

// C-122
TEST(DatabaseTest, AReadOnlyDatabaseIsUnavailableUntilItTakesWritesAgain) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  auto database = OpenPool(dsn, 1, absl::ZeroDuration());
  const auto write = [&](bool read_only) {
    return database->Transact("write", [&](Transaction& transaction) -> absl::Status {
      if (read_only) transaction.ExecScript("SET TRANSACTION READ ONLY");
      transaction.Exec("INSERT INTO t VALUES (1)");
      return absl::OkStatus();
    });
  };
  const absl::Status status = write(true);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("read-only"));
  Sql(dsn, "ALTER DATABASE " + SqlValue(dsn, "SELECT current_database()") + " SET default_transaction_read_only = on");
  auto other = OpenPool(dsn, 1, absl::ZeroDuration());
  EXPECT_EQ(Insert(*other, 1).code(),
            absl::StatusCode::kUnavailable);  // not even a connection: read-write was asked for
  Sql(fleetmark::testing::TestServer().dsn(),
      "ALTER DATABASE " + SqlValue(dsn, "SELECT current_database()") + " RESET default_transaction_read_only");
  EXPECT_TRUE(Insert(*other, 1).ok());
}

// C-122: the disk of the database is full.
TEST(DatabaseTest, AFullDatabaseIsUnavailable) {
  auto database = OpenPool(NewEmptyDatabase());
  const absl::Status status = database->Transact("write", [](Transaction& transaction) -> absl::Status {
    transaction.ExecScript(
        "DO $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left' USING ERRCODE = '53100'; END $$");
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("free space"));
}

// C-119: no connection left for us; waited for instead of failed.
TEST(DatabaseTest, WaitsForAConnectionWhenTheServerHasNone) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE t (x int PRIMARY KEY)");
  Sql(dsn, "CREATE ROLE limited LOGIN CONNECTION LIMIT 2; GRANT ALL ON t TO limited");
  std::string limited = dsn;
  limited.replace(limited.find("user=fleetmark"), 14, "user=limited");
  std::vector<std::unique_ptr<Database>> collectors;
  for (int i = 0; i < 4; ++i) collectors.push_back(OpenPool(limited, 1));
  // Each keeps its connection for a while and goes away: at most two at a time.
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status =
          collectors[static_cast<size_t>(i)]->Transact("insert", [&](Transaction& transaction) -> absl::Status {
            transaction.Exec("INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING", Args(i));
            transaction.Exec("SELECT pg_sleep(0.2)");
            return absl::OkStatus();
          });
      failed += status.ok() ? 0 : 1;
      collectors[static_cast<size_t>(i)].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM t"), "4");
}

// C-115: the whole server is gone and comes back.
TEST_F(StoreTest, OutlivesAServerThatIsKilled) {
  ASSERT_TRUE(store_->Check().ok());
  PrivatePostgres& server = fleetmark::testing::TestServer();
  const unsigned restarts = server.restarts();
  ASSERT_EQ(kill(server.postmaster_pid(), SIGKILL), 0);
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  absl::Status status = store_->Check();
  while (!status.ok() && absl::Now() < deadline) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    status = store_->Check();
  }
  EXPECT_TRUE(status.ok()) << status;
  while (server.restarts() == restarts && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(AddHost("mac").size(), 36U);
}

}  // namespace
}  // namespace fleetmark::collector
