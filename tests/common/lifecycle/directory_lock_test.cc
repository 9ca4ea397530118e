#include "common/lifecycle/directory_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace fleetmark {
namespace {

using testing::HasSubstr;

class DirectoryLockTest : public testing::Test {
 protected:
  DirectoryLockTest() : directory_(testing::TempDir() + "lock-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  ~DirectoryLockTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(DirectoryLockTest, TheSecondHolderLearnsTheFirstOnesPid) {  // C-104
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(directory_);
    if (!lock.ok() || write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const absl::StatusOr<DirectoryLock> second = DirectoryLock::Acquire(directory_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("process " + std::to_string(child)));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(directory_));

  // However the holder dies, the lock is free again.
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(DirectoryLock::Acquire(directory_).ok());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(DirectoryLockTest, IsFreedByTheDestructorAndKeptByMoves) {
  std::optional<DirectoryLock> kept;
  {
    absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(directory_);
    ASSERT_TRUE(lock.ok()) << lock.status();
    kept.emplace(std::move(*lock));
  }
  EXPECT_FALSE(DirectoryLock::Acquire(directory_).ok());
  kept.reset();
  EXPECT_TRUE(DirectoryLock::Acquire(directory_).ok());
}

// A command that only looks whether the daemon runs does not keep it from starting.
TEST_F(DirectoryLockTest, WaitsAsLongAsItHasPatience) {
  std::optional<DirectoryLock> first;
  first.emplace(*DirectoryLock::Acquire(directory_));
  EXPECT_FALSE(DirectoryLock::Acquire(directory_, absl::Milliseconds(30)).ok());
  std::thread leaves([&first] {
    absl::SleepFor(absl::Milliseconds(100));
    first.reset();
  });
  EXPECT_TRUE(DirectoryLock::Acquire(directory_, absl::Seconds(60)).ok());
  leaves.join();
}

TEST_F(DirectoryLockTest, LookersShareItAndChangeNothing) {
  EXPECT_EQ(DirectoryLock::AcquireShared(directory_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(DirectoryLock::Owner(directory_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  {
    const absl::StatusOr<DirectoryLock> owner = DirectoryLock::Acquire(directory_);
    ASSERT_TRUE(owner.ok());
    EXPECT_EQ(DirectoryLock::AcquireShared(directory_).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(DirectoryLock::Owner(directory_).value_or(0), getpid());
  }
  const absl::StatusOr<DirectoryLock> first = DirectoryLock::AcquireShared(directory_);
  const absl::StatusOr<DirectoryLock> second = DirectoryLock::AcquireShared(directory_);
  EXPECT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_FALSE(DirectoryLock::Acquire(directory_).ok()) << "while somebody looks";
}

TEST_F(DirectoryLockTest, AnotherUsersLockMayBeInUse) {
  if (geteuid() == 0) GTEST_SKIP() << "root can open every file";
  ASSERT_TRUE(DirectoryLock::Acquire(directory_).ok());
  chmod((directory_ + "/lock").c_str(), 0);
  EXPECT_EQ(DirectoryLock::Acquire(directory_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DirectoryLockTest, TakesOverTheFileOfALongerPid) {
  const std::string path = directory_ + "/lock";
  FILE* file = fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  fputs("99999999999999999999\n", file);
  fclose(file);
  const absl::StatusOr<DirectoryLock> first = DirectoryLock::Acquire(directory_);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(std::string(DirectoryLock::Acquire(directory_).status().message()),
              HasSubstr("process " + std::to_string(getpid()) + ";"));
}

TEST_F(DirectoryLockTest, NamesWhatCannotBeOpened) {
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(directory_ + "/missing");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("missing/lock"));
}

TEST_F(DirectoryLockTest, DoesNotFollowALink) {
  ASSERT_EQ(symlink("/etc/passwd", (directory_ + "/lock").c_str()), 0);
  EXPECT_FALSE(DirectoryLock::Acquire(directory_).ok());
}

}  // namespace
}  // namespace fleetmark
