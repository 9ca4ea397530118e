#include "collector/private_postgres/private_postgres.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/private_postgres/child_process.h"
#include "collector/private_postgres/pid_file.h"
#include "tests/support/postgres.h"

namespace fleetmark::collector {
namespace {

using ::fleetmark::testing::SharedTempDirectory;
using ::fleetmark::testing::Sql;
using ::fleetmark::testing::SqlValue;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<PrivatePostgres>> StartIn(const std::string& directory) {
  PrivatePostgresOptions options;
  options.state_directory = directory;
  return PrivatePostgres::Start(options);
}

// A state directory that has been in use before, shared by the tests that need one (initdb takes a second).
const std::string& UsedState() {
  static const SharedTempDirectory directory;
  static const bool made = StartIn(directory.path()).ok();
  EXPECT_TRUE(made);
  return directory.path();
}

// Exists and is not a zombie.
bool IsAlive(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  if (!file) return false;
  std::stringstream text;
  text << file.rdbuf();
  const size_t end = text.str().rfind(')');
  return end != std::string::npos && text.str()[end + 2] != 'Z';
}

template <typename Condition>
bool Eventually(Condition condition, absl::Duration patience = absl::Seconds(30)) {
  const absl::Time deadline = absl::Now() + patience;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

TEST(PrivatePostgresTest, ServesOnAUnixSocketOnlyAndNeverAsRoot) {
  const SharedTempDirectory directory;
  auto server = StartIn(directory.path());
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string dsn = (*server)->dsn();
  EXPECT_EQ(SqlValue(dsn, "SHOW listen_addresses"), "");
  EXPECT_EQ(SqlValue(dsn, "SHOW fsync"), "on");
  EXPECT_EQ(SqlValue(dsn, "SHOW server_encoding"), "UTF8");
  EXPECT_EQ(SqlValue(dsn, "SELECT datcollate FROM pg_database WHERE datname = current_database()"), "C");
  struct stat data = {};
  ASSERT_EQ(stat((directory.path() + "/postgres").c_str(), &data), 0);
  EXPECT_EQ(data.st_mode & 0777, 0700U);
  EXPECT_NE(data.st_uid, 0U);
  struct stat process = {};
  const pid_t pid = (*server)->postmaster_pid();
  ASSERT_EQ(stat(absl::StrCat("/proc/", pid).c_str(), &process), 0);
  EXPECT_EQ(process.st_uid, data.st_uid);
  EXPECT_TRUE((*server)->Shutdown(absl::Seconds(20)).ok());
  EXPECT_TRUE((*server)->Shutdown(absl::Seconds(20)).ok());  // idempotent
  EXPECT_FALSE(IsAlive(pid));
}

TEST(PrivatePostgresTest, KeepsItsDataAndWorksUnderAwkwardAndLongPaths) {
  const SharedTempDirectory directory;
  const std::string state = absl::StrCat(directory.path(), "/Zu stand 'ü\" \\x, ", std::string(90, 'l'));
  ASSERT_EQ(mkdir(state.c_str(), 0755), 0);
  {
    auto server = StartIn(state);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ(SqlValue((*server)->dsn(), "CREATE TABLE t AS SELECT 42 AS x; SELECT x FROM t"), "42");
  }
  // Output of an earlier server that has grown too long is put aside.
  std::filesystem::resize_file(state + "/postgres.log", 5 << 20);
  auto server = StartIn(state);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(SqlValue((*server)->dsn(), "SELECT x FROM t"), "42");
  EXPECT_TRUE(std::filesystem::exists(state + "/postgres.log.1"));
  EXPECT_LT(std::filesystem::file_size(state + "/postgres.log"), 1U << 20);
  const std::string dsn = (*server)->dsn();
  const std::string socket = dsn.substr(6, dsn.find('\'', 6) - 6);
  server->reset();
  EXPECT_EQ(rmdir(socket.c_str()), 0) << socket << " is not empty after the shutdown";
}

TEST(PrivatePostgresTest, IsStartedAgainWhenItIsKilled) {
  const std::string& state = UsedState();
  auto server = StartIn(state);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string dsn = (*server)->dsn();
  ASSERT_EQ(SqlValue(dsn, "CREATE TABLE t AS SELECT 42 AS x; SELECT x FROM t"), "42");
  for (unsigned kills = 1; kills <= 2; ++kills) {
    const pid_t pid = (*server)->postmaster_pid();
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] { return (*server)->restarts() == kills; }));
    EXPECT_NE((*server)->postmaster_pid(), pid);
    EXPECT_EQ(SqlValue(dsn, "SELECT x FROM t"), "42");
  }
}

// Not a test: what the test below runs in another process, to be killed.
TEST(PrivatePostgresTest, DISABLED_StartAndWait) {
  const char* directory = std::getenv("FLEETMARK_TEST_STATE");
  ASSERT_NE(directory, nullptr);
  auto server = StartIn(directory);
  ASSERT_TRUE(server.ok()) << server.status();
  std::ofstream(absl::StrCat(directory, "/pid.new")) << (*server)->postmaster_pid() << "\n";
  std::filesystem::rename(absl::StrCat(directory, "/pid.new"), absl::StrCat(directory, "/pid"));
  pause();
}

TEST(PrivatePostgresTest, EndsWithACollectorThatIsKilled) {
#ifndef __linux__
  GTEST_SKIP() << "needs PR_SET_PDEATHSIG";
#endif
  const std::string& state = UsedState();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const pid_t collector = fork();
  if (collector == 0) {
    setenv("FLEETMARK_TEST_STATE", state.c_str(), 1);
    execl(self.c_str(), self.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_filter=PrivatePostgresTest.DISABLED_StartAndWait", nullptr);
    _exit(127);
  }
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(state + "/pid"); }));
  pid_t postmaster = 0;
  std::ifstream(state + "/pid") >> postmaster;
  ASSERT_TRUE(IsAlive(postmaster));
  ASSERT_EQ(kill(collector, SIGKILL), 0);
  ASSERT_EQ(waitpid(collector, nullptr, 0), collector);
  EXPECT_TRUE(Eventually([&] { return !IsAlive(postmaster); }, absl::Seconds(10)));
  auto server = StartIn(state);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(SqlValue((*server)->dsn(), "SELECT 1"), "1");
}

TEST(PrivatePostgresTest, StopsAPostmasterThatWasLeftBehind) {
  const std::string& state = UsedState();
  const std::string socket = state + "/postgres-socket";
  // As by a collector whose death signal got lost.
  ChildOptions options;
  options.account = *ServerAccount();
  options.arguments = {FindPostgresBinaries(std::nullopt)->directory + "/postgres",
                       "-D",
                       state + "/postgres",
                       "-c",
                       "listen_addresses=",
                       "-c",
                       "unix_socket_directories=" + socket};
  const auto orphan = StartChild(options);
  ASSERT_TRUE(orphan.ok()) << orphan.status();
  ASSERT_TRUE(Eventually([&] {
    const auto file = ReadPostmasterPid(state + "/postgres");
    return file.has_value() && file->pid == *orphan && file->ready;
  }));
  auto server = StartIn(state);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(SqlValue((*server)->dsn(), "SELECT 1"), "1");
  EXPECT_EQ(WaitForChild(*orphan, absl::Seconds(5)).value_or(-1), 0);
}

TEST(PrivatePostgresTest, RecoversAfterAPowerCutWithAStalePidFile) {
  const std::string& state = UsedState();
  // A process id that was given out again to something else.
  std::ofstream(state + "/postgres/postmaster.pid") << 1 << "\n"
                                                    << state << "/postgres\n1700000000\n5432\n"
                                                    << state << "\n\n1 1\nready\n";
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  std::ofstream(state + "/postgres/postmaster.pid") << gone << "\n" << state << "/postgres\n";
  auto server = StartIn(state);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(SqlValue((*server)->dsn(), "SELECT 1"), "1");
}

TEST(PrivatePostgresTest, RefusesWhatItCannotUse) {
  const SharedTempDirectory directory;
  ASSERT_EQ(mkdir((directory.path() + "/postgres").c_str(), 0755), 0);
  std::ofstream(directory.path() + "/postgres/PG_VERSION") << "9\n";
  const absl::Status other_major = StartIn(directory.path()).status();
  EXPECT_EQ(other_major.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other_major.message()), HasSubstr("made by PostgreSQL 9"));
  EXPECT_THAT(std::string(other_major.message()), HasSubstr(directory.path()));

  std::filesystem::remove(directory.path() + "/postgres/PG_VERSION");
  std::ofstream(directory.path() + "/postgres/mine.txt") << "not a database";
  EXPECT_THAT(std::string(StartIn(directory.path()).status().message()), HasSubstr("is in the way"));
  EXPECT_TRUE(std::filesystem::exists(directory.path() + "/postgres/mine.txt"));
  EXPECT_EQ(StartIn("relative").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PrivatePostgresTest, AsRootNamesTheDirectoryTheServerMayNotEnter) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives the server to another user";
  const SharedTempDirectory directory;
  const std::string closed = directory.path() + "/closed";
  ASSERT_EQ(mkdir(closed.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((closed + "/state").c_str(), 0755), 0);
  const absl::Status status = StartIn(closed + "/state").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("may not enter " + closed));
}

TEST(PrivatePostgresTest, SaysWhatTheServerSaidWhenItDoesNotStart) {
  const std::string& state = UsedState();
  const std::string configuration = state + "/postgres/postgresql.conf";
  const auto size = std::filesystem::file_size(configuration);
  std::ofstream(configuration, std::ios::app) << "nonsense_setting = 1\n";
  const absl::Status status = StartIn(state).status();
  std::filesystem::resize_file(configuration, size);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nonsense_setting"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("postgres.log"));
}

}  // namespace
}  // namespace fleetmark::collector
