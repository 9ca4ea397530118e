#include "common/pki/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_directory.h"

namespace fleetmark {
namespace {

using ::testing::HasSubstr;

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(FilesTest, MakesAFileOnceAndWithItsMode) {
  const test::TempDirectory directory;
  const mode_t old = ::umask(0);
  EXPECT_TRUE(CreateFileExclusively(directory / "key", "secret", 0600).ok());
  ::umask(old);
  EXPECT_EQ(ModeOf(directory / "key"), 0600U);
  EXPECT_EQ(ReadSmallFile(directory / "key").value(), "secret");
  EXPECT_TRUE(absl::IsAlreadyExists(CreateFileExclusively(directory / "key", "other", 0600)));
  EXPECT_EQ(ReadSmallFile(directory / "key").value(), "secret");
}

TEST(FilesTest, DoesNotWriteThroughALink) {
  const test::TempDirectory directory;
  ASSERT_EQ(::symlink((directory / "elsewhere").c_str(), (directory / "key").c_str()), 0);
  EXPECT_TRUE(absl::IsAlreadyExists(CreateFileExclusively(directory / "key", "secret", 0600)));
  EXPECT_FALSE(FileExists(directory / "elsewhere"));
}

TEST(FilesTest, ReplacesAFileAndLeavesNothingBeside) {
  const test::TempDirectory directory;
  EXPECT_TRUE(ReplaceFile(directory / "f", "one", 0644).ok());
  EXPECT_TRUE(ReplaceFile(directory / "f", "two", 0640).ok());
  EXPECT_EQ(ReadSmallFile(directory / "f").value(), "two");
  EXPECT_EQ(ModeOf(directory / "f"), 0640U);
  EXPECT_EQ(::unlink((directory / "f").c_str()), 0);
  EXPECT_EQ(::rmdir(directory.path().c_str()), 0) << "something was left in the directory";
}

TEST(FilesTest, MakesDirectoriesForTheOwnerOnly) {
  const test::TempDirectory directory;
  EXPECT_TRUE(MakePrivateDirectory(directory / "a/b").ok());
  EXPECT_EQ(ModeOf(directory / "a"), 0700U);
  EXPECT_EQ(ModeOf(directory / "a/b"), 0700U);
  EXPECT_TRUE(MakePrivateDirectory(directory / "a/b").ok());
  ASSERT_TRUE(ReplaceFile(directory / "file", "", 0644).ok());
  EXPECT_THAT(std::string(MakePrivateDirectory(directory / "file").message()),
              HasSubstr("there is a file of this name"));
}

TEST(FilesTest, SaysWhatToTypeForAKeyThatOthersCanRead) {
  const test::TempDirectory directory;
  const std::string path = directory / "key";
  ASSERT_TRUE(ReplaceFile(path, "secret", 0600).ok());
  EXPECT_TRUE(CheckPrivate(path).ok());
  for (const mode_t mode : {mode_t{0644}, mode_t{0640}, mode_t{0604}, mode_t{0620}}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const absl::Status status = CheckPrivate(path);
    EXPECT_TRUE(absl::IsPermissionDenied(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600 " + path));
  }
}

TEST(FilesTest, NamesTheFileInItsErrors) {
  const test::TempDirectory directory;
  EXPECT_TRUE(absl::IsNotFound(ReadSmallFile(directory / "none").status()));
  EXPECT_THAT(std::string(ReadSmallFile(directory / "none").status().message()), HasSubstr(directory / "none"));
  ASSERT_TRUE(ReplaceFile(directory / "big", std::string((1 << 20) + 1, 'x'), 0644).ok());
  EXPECT_THAT(std::string(ReadSmallFile(directory / "big").status().message()), HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace fleetmark
