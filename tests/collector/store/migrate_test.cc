#include "collector/store/migrate.h"

#include <libpq-fe.h>

#include <thread>

#include "collector/store/dsn.h"
#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::fleetmark::testing::NewEmptyDatabase;
using ::fleetmark::testing::Sql;
using ::fleetmark::testing::SqlValue;
using ::testing::HasSubstr;

std::unique_ptr<Database> OpenDatabase(const std::string& dsn) {
  Database::Options options;
  options.connection_string = *CompleteDsn(dsn);
  return std::make_unique<Database>(options);
}

absl::Status Open(const std::string& dsn) {
  DatabaseOptions options;
  options.dsn = dsn;
  options.connect_deadline = absl::Seconds(5);
  return Store::Open(options).status();
}

const std::vector<Migration>& Small() {
  static const std::vector<Migration> migrations = {
      {1, "0001_a.sql", "CREATE TABLE fleetmark.a (x int)"},
      {2, "0002_b.sql", "CREATE TABLE fleetmark.b (x int); INSERT INTO fleetmark.b VALUES (1)"},
  };
  return migrations;
}

TEST(MigrationsTest, AreNumberedWithoutGaps) {
  int expected = 1;
  for (const Migration& migration : Migrations()) {
    EXPECT_EQ(migration.number, expected++) << migration.name;
    EXPECT_FALSE(migration.sql.empty());
  }
  EXPECT_GE(Migrations().size(), 2U);
}

// C-121
TEST(MigrateTest, ManyAtOnceOnAnEmptyDatabaseAllSucceed) {
  const std::string dsn = NewEmptyDatabase();
  std::vector<absl::Status> statuses(6);
  std::vector<std::thread> threads;
  for (absl::Status& status : statuses) threads.emplace_back([&] { status = Open(dsn); });
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM fleetmark.schema_version"), absl::StrCat(Migrations().size()));
}

// C-121: a step and its version row come together or not at all.
TEST(MigrateTest, ResumesAfterAFailureInTheMiddle) {
  const std::string dsn = NewEmptyDatabase();
  auto database = OpenDatabase(dsn);
  std::vector<Migration> broken = Small();
  broken[1].sql =
      "CREATE TABLE fleetmark.b (x int); INSERT INTO fleetmark.b VALUES (1); SELECT "
      "pg_terminate_backend(pg_backend_pid())";
  EXPECT_FALSE(Migrate(*database, broken).ok());
  EXPECT_EQ(SqlValue(dsn, "SELECT max(version) FROM fleetmark.schema_version"), "1");
  EXPECT_EQ(SqlValue(dsn, "SELECT to_regclass('fleetmark.b')"), "NULL");
  ASSERT_TRUE(Migrate(*database, Small()).ok());
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM fleetmark.b"), "1");
  ASSERT_TRUE(Migrate(*database, Small()).ok());
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM fleetmark.b"), "1");
}

// C-121
TEST(MigrateTest, RefusesANewerSchemaNamingBothVersions) {
  const std::string dsn = fleetmark::testing::NewDatabase();
  Sql(dsn, "INSERT INTO fleetmark.schema_version (version, name) VALUES (4711, 'future')");
  const absl::Status status = Open(dsn);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("4711"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("up to ", Migrations().size())));
}

TEST(MigrateTest, RefusesADatabaseThatIsNotOurs) {
  const std::string dsn = NewEmptyDatabase();
  Sql(dsn, "CREATE TABLE public.orders (x int)");
  const absl::Status status = Open(dsn);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not ours"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("public.orders"));
  EXPECT_EQ(SqlValue(dsn, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fleetmark%'"), "0");
}

TEST(StoreOpenTest, SaysWhatIsWrongWithTheDatabase) {
  const absl::Status missing = Open(fleetmark::testing::DsnOf("no_such_database"));
  EXPECT_EQ(missing.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("no_such_database"));
  std::string other_role = fleetmark::testing::DsnOf("postgres");
  other_role.replace(other_role.find("user=fleetmark"), 14, "user=nobody_knows");
  EXPECT_EQ(Open(other_role).code(), absl::StatusCode::kUnauthenticated);
  DatabaseOptions options;
  options.dsn = "host=/nonexistent dbname=x";
  options.connect_deadline = absl::ZeroDuration();
  const absl::Status away = Store::Open(options).status();
  EXPECT_EQ(away.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(away.message()), HasSubstr("open the database 'host=/nonexistent dbname=x'"));
  // C-179
  EXPECT_EQ(Open("postgres://u:s3cret@localhost/x").code(), absl::StatusCode::kInvalidArgument);
}

// C-112: no identity is a 32-bit number.
TEST_F(StoreTest, IdentitiesGoBeyondThirtyTwoBits) {
  EXPECT_EQ(
      Value("SELECT count(*) FROM information_schema.columns WHERE table_schema = 'fleetmark' AND is_identity = 'YES'"
            " AND data_type <> 'bigint'"),
      "0");
  Exec("ALTER TABLE fleetmark.run ALTER COLUMN id RESTART WITH 2147483646");
  Exec("ALTER TABLE fleetmark.task ALTER COLUMN id RESTART WITH 2147483646");
  const HostId host = AddConnectedHost("mac");
  RunId last = 0;
  for (int i = 0; i < 3; ++i) last = AddRun({TaskOn(host, "mac")});
  EXPECT_EQ(last, 2147483648);
  EXPECT_EQ(store_->runs().GetRun(last)->tasks(0).id(), 2147483648);
  EXPECT_EQ(*store_->runs().NewestRun(), last);
}

// C-043: NaN and infinity cannot be in the table, whoever writes them.
TEST_F(StoreTest, TheSchemaRefusesWhatIsNotANumber) {
  const Assigned assigned = AssignOne();
  StoreAll(assigned.host, {Started(assigned.key), Rep(assigned.key, 2, 1, 5)});
  for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
    const auto rows =
        fleetmark::testing::Sql(dsn_, absl::StrCat("UPDATE fleetmark.measurement SET value = '", value, "'::float8"));
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0][1], "23514") << value;
  }
  Exec("UPDATE fleetmark.measurement SET value = NULL");
}

}  // namespace
}  // namespace fleetmark::collector
