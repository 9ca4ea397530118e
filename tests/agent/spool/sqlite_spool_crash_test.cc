// What the spool keeps when the writer is killed, the file is damaged, or the disk is full or read-only.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SqliteSpoolCrashTest : public SpoolFixture {
 protected:
  // Runs SQL on the closed file.
  void Sql(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &handle), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(handle);
  }

  void FillAndClose(int records, size_t padding) {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(1)).ok());
    for (int i = 1; i <= records; ++i) AppendOk(spool, 1, {RepetitionOf(static_cast<uint32_t>(i), padding)});
  }
};

// Everything a killed writer was told to be durable is there, sequences without a gap, and they go on. C-101.
TEST_F(SqliteSpoolCrashTest, KilledWriterLosesNothingThatWasReported) {
  uint64_t previous = 0;
  for (int round = 0; round < 5; ++round) {
    int reports[2];
    ASSERT_EQ(::pipe(reports), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(reports[0]);
      SqliteSpool spool(options());
      if (!spool.AddTask(Task(1)).ok()) ::_exit(3);
      while (true) {
        std::vector<v1::Record> records = {RepetitionOf(1, 3000), RepetitionOf(2, 10)};
        if (!spool.Append(1, 1, records).ok()) ::_exit(4);
        const uint64_t sequence = records.back().id().sequence();
        if (::write(reports[1], &sequence, sizeof sequence) != sizeof sequence) ::_exit(5);
      }
    }
    ::close(reports[1]);
    uint64_t reported = 0;
    for (int i = 0; i < 20 + 7 * round; ++i) {
      ASSERT_EQ(::read(reports[0], &reported, sizeof reported), static_cast<ssize_t>(sizeof reported));
    }
    ::kill(child, SIGKILL);
    while (::read(reports[0], &reported, sizeof reported) == static_cast<ssize_t>(sizeof reported)) {
    }
    ::close(reports[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);

    SqliteSpool spool(options());
    const auto tasks = spool.Tasks();
    ASSERT_TRUE(tasks.ok()) << tasks.status();
    const uint64_t highest = (*tasks)[0].highest_sequence;
    EXPECT_GE(highest, reported);
    EXPECT_LE(highest, reported + 2) << "at most one append was under way";
    EXPECT_GT(highest, previous);
    const auto batch = spool.Read(0, 100 << 20);
    ASSERT_TRUE(batch.ok());
    uint64_t expected = 0;
    for (const v1::Record& record : batch->records) {
      ASSERT_EQ(record.id().sequence(), ++expected);
      ASSERT_TRUE(record.has_repetition());
    }
    EXPECT_EQ(expected, highest);
    previous = highest;
  }
}

// C-101: the end of the log is torn off, as a power cut does it.
TEST_F(SqliteSpoolCrashTest, TornLogLosesOnlyItsEnd) {
  // A copy of a living spool: its log has not been written back.
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  for (uint32_t i = 1; i <= 20; ++i) AppendOk(spool, 1, {RepetitionOf(i, 500)});
  const std::string copy = directory_ + "/copy.db";
  std::filesystem::copy_file(path(), copy);
  std::filesystem::copy_file(path() + "-wal", copy + "-wal");
  const auto size = std::filesystem::file_size(copy + "-wal");
  std::filesystem::resize_file(copy + "-wal", size - 2000);

  SqliteSpool::Options torn;
  torn.path = copy;
  SqliteSpool recovered(torn);
  const auto batch = recovered.Read(0, 100 << 20);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->records, SizeIs(19));
  EXPECT_EQ(recovered.Status().refuses_tasks_because(), "");
}

// C-101: a record whose bytes changed on the disk is skipped, the rest is kept, the sequence has no gap.
TEST_F(SqliteSpoolCrashTest, DamagedRecordIsReplacedByOneThatSaysSo) {
  FillAndClose(4, 100);
  Sql("UPDATE record SET body=substr(body, 1, 50) WHERE sequence=2; DELETE FROM record WHERE sequence=3;");
  SqliteSpool spool(options());
  const auto batch = spool.Read(0, 1 << 20);
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(Sequences(*batch), ElementsAre(1, 2, 4, 3));
  EXPECT_EQ(batch->records[0].kind_case(), v1::Record::kRepetition);
  EXPECT_EQ(batch->records[1].kind_case(), v1::Record::KIND_NOT_SET);
  EXPECT_EQ(batch->records[2].kind_case(), v1::Record::kRepetition);
  EXPECT_EQ(batch->records[3].kind_case(), v1::Record::KIND_NOT_SET);
  EXPECT_THAT(spool.TakeMessages(), ElementsAre(HasSubstr("1 records of task 1 attempt 1 are lost")));
}

TEST_F(SqliteSpoolCrashTest, DamagedEndOfATaskStillEndsIt) {
  {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(1)).ok());
    AppendOk(spool, 1, {Started(), Finished()});
  }
  Sql("UPDATE record SET body=x'00' WHERE sequence=2");
  SqliteSpool spool(options());
  const auto batch = spool.Read(0, 1 << 20);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->records[1].finished().outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_THAT(batch->records[1].finished().reason(), HasSubstr(path()));
}

TEST_F(SqliteSpoolCrashTest, DamagedPageIsMovedAsideAndTheReadableRestKept) {
  FillAndClose(40, 3500);  // about a page each
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff{20} * 4096);
    const std::string garbage(4096, '\xa5');
    file.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
  }
  SqliteSpool spool(options());
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  const auto messages = spool.TakeMessages();
  ASSERT_FALSE(messages.empty());
  EXPECT_THAT(messages[0], HasSubstr("moved to " + path() + ".damaged-"));
  const auto batch = spool.Read(0, 100 << 20);
  ASSERT_TRUE(batch.ok()) << batch.status();
  size_t whole = 0;
  for (const v1::Record& record : batch->records) whole += record.has_repetition() ? 1 : 0;
  EXPECT_THAT(batch->records, SizeIs(40)) << "the lost ones are stood for";
  EXPECT_GE(whole, 36u);
  EXPECT_LT(whole, 40u);
  AppendOk(spool, 1, {RepetitionOf(41)});
}

// Killed between moving the damaged file aside and putting the salvage in its place: the log may be there still.
TEST_F(SqliteSpoolCrashTest, SalvageOfAKilledAgentIsPutInPlace) {
  FillAndClose(5, 100);
  std::filesystem::rename(path(), path() + ".salvage");
  std::ofstream(path() + "-wal", std::ios::binary) << std::string(5000, 'w');
  SqliteSpool spool(options());
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  EXPECT_THAT(spool.Read(0, 1 << 20)->records, SizeIs(5));
  EXPECT_FALSE(std::filesystem::exists(path() + ".salvage"));
}

// Killed before: the salvage may lack what the file still has.
TEST_F(SqliteSpoolCrashTest, SalvageBesideItsFileIsThrownAway) {
  FillAndClose(5, 100);
  std::ofstream(path() + ".salvage", std::ios::binary) << "half";
  SqliteSpool spool(options());
  EXPECT_THAT(spool.Read(0, 1 << 20)->records, SizeIs(5));
  EXPECT_FALSE(std::filesystem::exists(path() + ".salvage"));
}

TEST_F(SqliteSpoolCrashTest, FileThatIsNoDatabaseIsMovedAside) {
  for (int round = 0; round < 2; ++round) {
    {
      std::ofstream file(path(), std::ios::binary | std::ios::trunc);
      file << std::string(10000, 'x');
    }
    SqliteSpool spool(options());
    EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
    EXPECT_THAT(spool.TakeMessages(), ElementsAre(HasSubstr("0 tasks and 0 records")));
    EXPECT_TRUE(spool.AddTask(Task(1)).ok());
  }
}

TEST_F(SqliteSpoolCrashTest, FileOfANewerFormatIsLeftAlone) {
  FillAndClose(1, 10);
  Sql("PRAGMA user_version=9");
  {
    SqliteSpool spool(options());
    EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr("newer fleetmark-agent"));
    EXPECT_TRUE(absl::IsFailedPrecondition(spool.AddTask(Task(2))));
  }
  Sql("PRAGMA user_version=1");
  EXPECT_THAT(SqliteSpool(options()).Read(0, 1000)->records, SizeIs(1));
}

TEST_F(SqliteSpoolCrashTest, MissingDirectoryIsSaidAndRecoveredFrom) {
  SqliteSpool::Options missing = options();
  missing.path = directory_ + "/later/spool.db";
  SqliteSpool spool(missing);
  EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr(missing.path));
  EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr("--state-dir"));
  EXPECT_FALSE(spool.AddTask(Task(1)).ok());
  std::filesystem::create_directory(directory_ + "/later");
  spool.Recover();
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  EXPECT_TRUE(spool.AddTask(Task(1)).ok());
}

// A small file system of its own, where mounting is permitted.
class SqliteSpoolDiskTest : public SpoolFixture {
 protected:
  void SetUp() override {
    if (::mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=256k") != 0) {
      GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

// C-094: the disk under the state directory is full.
TEST_F(SqliteSpoolDiskTest, FullDiskIsSaidAndLosesNothingAndHeals) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok()) << spool.Status().refuses_tasks_because();
  uint64_t kept = 0;
  absl::Status status;
  for (uint32_t i = 1; i <= 1000 && status.ok(); ++i) {
    std::vector<v1::Record> records = {RepetitionOf(i, 2000)};
    status = spool.Append(1, 1, records).status();
    if (status.ok()) kept = records[0].id().sequence();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr("full"));
  EXPECT_EQ((*spool.Tasks())[0].highest_sequence, kept);
  EXPECT_EQ(spool.Read(0, 10 << 20)->records.size(), kept);

  ASSERT_EQ(::mount("tmpfs", directory_.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0) << std::strerror(errno);
  spool.Recover();
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  std::vector<v1::Record> records = {RepetitionOf(1, 2000)};
  ASSERT_TRUE(spool.Append(1, 1, records).ok());
  EXPECT_EQ(records[0].id().sequence(), kept + 1);
}

// C-095: the state directory turns read-only.
TEST_F(SqliteSpoolDiskTest, ReadOnlyDiskIsSaidAndHeals) {
  {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(1)).ok());
    AppendOk(spool, 1, {Started()});
  }
  ASSERT_EQ(::mount("tmpfs", directory_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0) << std::strerror(errno);
  SqliteSpool spool(options());
  EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr(path()));
  EXPECT_THAT(spool.Status().refuses_tasks_because(), HasSubstr("writable"));
  EXPECT_FALSE(spool.AddTask(Task(2)).ok());
  ASSERT_EQ(::mount("tmpfs", directory_.c_str(), "tmpfs", MS_REMOUNT, ""), 0) << std::strerror(errno);
  spool.Recover();
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  EXPECT_EQ(spool.Read(0, 1000)->records.size(), 1u);
}

}  // namespace
}  // namespace fleetmark::agent
