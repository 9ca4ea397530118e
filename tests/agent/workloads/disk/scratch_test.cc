#include "agent/workloads/disk/scratch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

TEST(ScratchDirectoryTest, CreatesOnlyNewFiles) {
  const test::TempDirectory directory;
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(directory.path());
  ASSERT_TRUE(scratch.ok());
  ASSERT_TRUE(scratch->Create("a").ok());
  const absl::Status again = scratch->Create("a").status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("(EEXIST)"));
}

TEST(ScratchDirectoryTest, NeverFollowsALink) {
  const test::TempDirectory directory, elsewhere;
  test::WriteFile(elsewhere / "precious", "data");
  ASSERT_EQ(symlink((elsewhere / "precious").c_str(), (directory / "a").c_str()), 0);
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(directory.path());
  ASSERT_TRUE(scratch.ok());
  EXPECT_FALSE(scratch->Create("a").ok());
  EXPECT_FALSE(scratch->OpenExisting("a", true, false).ok());
  EXPECT_TRUE(scratch->Remove("a").ok());  // the link, not what it leads to
  struct stat facts {};
  ASSERT_EQ(stat((elsewhere / "precious").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 4);
}

TEST(ScratchDirectoryTest, ALinkIsNoScratchDirectory) {
  const test::TempDirectory directory, elsewhere;
  ASSERT_EQ(symlink(elsewhere.path().c_str(), (directory / "scratch").c_str()), 0);
  EXPECT_FALSE(ScratchDirectory::Open(directory / "scratch").ok());
}

TEST(ScratchDirectoryTest, RemovingWhatIsNotThereIsFine) {
  const test::TempDirectory directory;
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(directory.path());
  ASSERT_TRUE(scratch.ok());
  EXPECT_TRUE(scratch->Remove("nothing").ok());
}

TEST(ScratchDirectoryTest, NoticesThatItWasReplaced) {
  const test::TempDirectory directory;
  const std::string path = directory / "scratch";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(path);
  ASSERT_TRUE(scratch.ok());
  EXPECT_TRUE(scratch->CheckUnchanged().ok());
  ASSERT_EQ(rename(path.c_str(), (directory / "moved").c_str()), 0);
  EXPECT_THAT(std::string(scratch->CheckUnchanged().message()), HasSubstr("is gone"));
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_THAT(std::string(scratch->CheckUnchanged().message()), HasSubstr("is now another directory"));
}

// C-162
TEST(ScratchDirectoryTest, ExplainsAndKeepsTheCode) {
  const test::TempDirectory directory;
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(directory.path());
  ASSERT_TRUE(scratch.ok());
  const absl::Status status =
      scratch->Explain(absl::PermissionDeniedError("create x: Permission denied (EACCES)"), "x", 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("user " + std::to_string(geteuid())));
  EXPECT_TRUE(absl::IsCancelled(scratch->Explain(absl::CancelledError("c"), "x", 0)));
}

}  // namespace
}  // namespace fleetmark::agent
