#include "tests/support/postgres.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "collector/store/store.h"

namespace fleetmark::testing {
namespace {

struct Server {
  SharedTempDirectory directory;
  std::unique_ptr<collector::PrivatePostgres> postgres;
};

std::unique_ptr<Server>& TheServer() {
  static std::unique_ptr<Server> server;
  return server;
}

class StopServerAtTheEnd : public ::testing::Environment {
 public:
  void TearDown() override { TheServer().reset(); }
};
[[maybe_unused]] ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new StopServerAtTheEnd);

[[noreturn]] void GiveUpServer(const std::string& why) {
  std::fprintf(stderr, "tests/support/postgres: %s\n", why.c_str());
  std::abort();
}

void CreateDatabase(const std::string& statement) {
  const auto rows = Sql(TestServer().dsn(), statement);
  if (!rows.empty() && rows[0][0] == "ERROR") GiveUpServer(absl::StrCat(statement, ": ", rows[0][2]));
}

std::string NextName() {
  static std::atomic<int> next{0};
  return absl::StrCat("test_", next.fetch_add(1));
}

}  // namespace

SharedTempDirectory::SharedTempDirectory() {
  const char* base = std::getenv("TMPDIR");
  path_ = absl::StrCat(base != nullptr && base[0] == '/' ? base : "/tmp", "/fleetmark-test-XXXXXX");
  if (mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0711) != 0)
    GiveUpServer("cannot make a directory in /tmp");
}

SharedTempDirectory::~SharedTempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

collector::PrivatePostgres& TestServer() {
  std::unique_ptr<Server>& server = TheServer();
  if (server == nullptr) {
    server = std::make_unique<Server>();
    collector::PrivatePostgresOptions options;
    options.state_directory = server->directory.path();
    // No test cuts the power; kill -9 of a server needs no fsync.
    options.settings = {"fsync=off", "full_page_writes=off"};
    auto postgres = collector::PrivatePostgres::Start(options);
    if (!postgres.ok()) GiveUpServer(std::string(postgres.status().message()));
    server->postgres = *std::move(postgres);
  }
  return *server->postgres;
}

std::string DsnOf(const std::string& database) {
  std::string dsn = TestServer().dsn();
  const size_t at = dsn.find("dbname=postgres");
  return dsn.replace(at, 15, "dbname=" + database);
}

std::string NewEmptyDatabase() {
  const std::string name = NextName();
  CreateDatabase(absl::StrCat("CREATE DATABASE ", name));
  return DsnOf(name);
}

std::string NewDatabase() {
  static const bool migrated = [] {
    CreateDatabase("CREATE DATABASE fleetmark_template");
    collector::DatabaseOptions options;
    options.dsn = DsnOf("fleetmark_template");
    if (auto store = collector::Store::Open(options); !store.ok()) GiveUpServer(std::string(store.status().message()));
    return true;
  }();
  static_cast<void>(migrated);
  const std::string name = NextName();
  CreateDatabase(absl::StrCat("CREATE DATABASE ", name, " TEMPLATE fleetmark_template"));
  return DsnOf(name);
}

void DropDatabase(const std::string& dsn) {
  const size_t at = dsn.find("dbname=") + 7;
  Sql(TestServer().dsn(), absl::StrCat("DROP DATABASE ", dsn.substr(at), " WITH (FORCE)"));
}

std::vector<std::vector<std::string>> Sql(const std::string& dsn, const std::string& statements) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(dsn.c_str()), &PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) return {{"ERROR", "08000", PQerrorMessage(connection.get())}};
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), statements.c_str()), &PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK && PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    return {{"ERROR", state == nullptr ? "" : state, PQresultErrorMessage(result.get())}};
  }
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < PQntuples(result.get()); ++i) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int k = 0; k < PQnfields(result.get()); ++k) {
      row.emplace_back(PQgetisnull(result.get(), i, k) != 0 ? "NULL" : PQgetvalue(result.get(), i, k));
    }
  }
  return rows;
}

std::string SqlValue(const std::string& dsn, const std::string& statements) {
  const auto rows = Sql(dsn, statements);
  if (rows.empty() || rows[0].empty()) return "(no rows)";
  return rows[0][0] == "ERROR" ? rows[0][2] : rows[0][0];
}

}  // namespace fleetmark::testing
