#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "collector/private_postgres/account.h"
#include "collector/private_postgres/binaries.h"
#include "collector/private_postgres/child_process.h"
#include "collector/private_postgres/data_directory.h"
#include "collector/private_postgres/pid_file.h"
#include "collector/private_postgres/socket_directory.h"
#include "tests/support/postgres.h"

namespace fleetmark::collector {
namespace {

using ::fleetmark::testing::SharedTempDirectory;
using ::testing::HasSubstr;

TEST(ChooseBinariesTest, TakesTheNewestOrTheOneOfTheData) {
  const std::vector<PostgresBinaries> found = {{"/a/13", 13}, {"/a/17", 17}, {"/a/15", 15}};
  EXPECT_EQ(ChooseBinaries(found, std::nullopt)->directory, "/a/17");
  EXPECT_EQ(ChooseBinaries(found, 15)->directory, "/a/15");
}

TEST(ChooseBinariesTest, SaysWhatToInstall) {
  const absl::Status none = ChooseBinaries({}, std::nullopt).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr("apt-get install postgresql"));
  EXPECT_THAT(std::string(ChooseBinaries({{"/a", 12}}, std::nullopt).status().message()), HasSubstr("only 12"));
}

TEST(ChooseBinariesTest, DataOfAnotherMajorVersionIsRefusedWithTheSteps) {
  const absl::Status status = ChooseBinaries({{"/a", 17}}, 15).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("made by PostgreSQL 15"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("only version 17"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install postgresql-15"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("pg_upgrade"));
}

TEST(PostmasterPidTest, ReadsReadinessFromTheEighthLine) {
  const auto ready = ParsePostmasterPid("4711\n/data\n1700000000\n5432\n/run\n\n  123 456\nready   \n");
  ASSERT_TRUE(ready.has_value());
  EXPECT_EQ(ready->pid, 4711);
  EXPECT_EQ(ready->data_directory, "/data");
  EXPECT_TRUE(ready->ready);
  EXPECT_FALSE(ParsePostmasterPid("4711\n/data\n1\n5432\n/run\n\n1 2\nstarting\n")->ready);
  EXPECT_FALSE(ParsePostmasterPid("4711\n/data\n")->ready);
  EXPECT_FALSE(ParsePostmasterPid("").has_value());
  EXPECT_FALSE(ParsePostmasterPid("nonsense\n").has_value());
  EXPECT_FALSE(ParsePostmasterPid("-1\n").has_value());
}

TEST(StopOrphanTest, LeavesAForeignProcessAlone) {
  const SharedTempDirectory directory;
  std::ofstream(directory.path() + "/postmaster.pid") << getpid() << "\n" << directory.path() << "\n";
  const auto stopped = StopOrphan(directory.path(), absl::Seconds(1));
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_FALSE(*stopped);
}

TEST(SocketDirectoryTest, FallsBackToAShortPath) {
  EXPECT_TRUE(UsableForSocket("/var/lib/fleetmark/postgres-socket"));
  EXPECT_FALSE(UsableForSocket("/" + std::string(100, 'x')));
  EXPECT_FALSE(UsableForSocket("/a,b"));
  const auto socket = EnsureSocketDirectory("/" + std::string(120, 'x'), std::nullopt);
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(UsableForSocket(*socket));
  struct stat info = {};
  ASSERT_EQ(stat(socket->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_EQ(rmdir(socket->c_str()), 0);
}

TEST(CheckReachableTest, NamesTheDirectoryThatStopsIt) {
  const SharedTempDirectory directory;
  const std::string closed = directory.path() + "/closed";
  ASSERT_EQ(mkdir(closed.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((closed + "/inner").c_str(), 0755), 0);
  const Account other{"somebody", getuid() + 4242, getgid() + 4242};
  EXPECT_TRUE(CheckReachable(other, directory.path()).ok());
  const absl::Status status = CheckReachable(other, closed + "/inner");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("may not enter " + closed + ";"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod o+x"));
}

TEST(EnsurePrivateDirectoryTest, TightensItsOwnAndRefusesAFile) {
  const SharedTempDirectory directory;
  const std::string path = directory.path() + "/d";
  ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
  ASSERT_TRUE(EnsurePrivateDirectory(path, std::nullopt).ok());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  std::ofstream(directory.path() + "/f") << "x";
  EXPECT_FALSE(EnsurePrivateDirectory(directory.path() + "/f", std::nullopt).ok());
}

TEST(ChildProcessTest, ReportsWhyAProgramCannotBeStarted) {
  ChildOptions options;
  options.arguments = {"/nonexistent/program"};
  const absl::Status status = StartChild(options).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/program: exec: No such file"));
}

}  // namespace
}  // namespace fleetmark::collector
