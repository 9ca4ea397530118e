#include "agent/worker/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/worker/manifest.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

class ScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fleetmark scratch ü XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    absl::StatusOr<OwnedFd> opened = OpenDirectoryWithoutLinks(root_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    fd_ = *std::move(opened);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string root_;
  OwnedFd fd_;
};

TEST_F(ScratchTest, MakesAndRemovesItsOwnDirectory) {
  const absl::StatusOr<FileIdentity> made = MakeDirectoryAt(fd_.get(), "s");
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat info = {};
  ASSERT_EQ(::stat((root_ + "/s").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(MakeDirectoryAt(fd_.get(), "s").status().code(), absl::StatusCode::kAlreadyExists);
  std::ofstream(root_ + "/s/file") << std::string(1'000'000, 'x');
  std::filesystem::create_directories(root_ + "/s/a/b/c");
  std::filesystem::create_symlink(root_, root_ + "/s/link");
  const absl::StatusOr<uint64_t> removed = RemoveDirectoryAt(fd_.get(), "s", *made);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_FALSE(std::filesystem::exists(root_ + "/s"));
  EXPECT_TRUE(std::filesystem::exists(root_));
  EXPECT_TRUE(RemoveDirectoryAt(fd_.get(), "s", *made).ok());
}

// C-177
TEST_F(ScratchTest, NoLinkIsFollowedAnywhere) {
  std::filesystem::create_directories(root_ + "/real/deep");
  std::filesystem::create_directory_symlink(root_ + "/real", root_ + "/link");
  const absl::StatusOr<OwnedFd> opened = OpenDirectoryWithoutLinks(root_ + "/link/deep");
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(root_ + "/real/deep"));
  EXPECT_TRUE(OpenDirectoryWithoutLinks(root_ + "/real/deep").ok());
  EXPECT_FALSE(OpenDirectoryWithoutLinks("relative").ok());
  EXPECT_EQ(OpenDirectoryWithoutLinks(root_ + "/none").status().code(), absl::StatusCode::kNotFound);
  std::ofstream(root_ + "/file") << "x";
  EXPECT_EQ(OpenDirectoryWithoutLinks(root_ + "/file").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RemoveDirectoryAt(fd_.get(), "link", IdentityOfFd(fd_.get())).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ScratchTest, NamesAreOneComponent) {
  for (const char* name : {"", ".", "..", "a/b", "/etc"}) {
    EXPECT_FALSE(MakeDirectoryAt(fd_.get(), name).ok()) << name;
    EXPECT_FALSE(RemoveDirectoryAt(fd_.get(), name, std::nullopt).ok()) << name;
  }
}

TEST_F(ScratchTest, AnotherDirectoryOfThatNameStays) {
  const absl::StatusOr<FileIdentity> made = MakeDirectoryAt(fd_.get(), "s");
  ASSERT_TRUE(made.ok());
  FileIdentity other = *made;
  ++other.inode;
  EXPECT_EQ(RemoveDirectoryAt(fd_.get(), "s", other).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::exists(root_ + "/s"));
}

TEST_F(ScratchTest, ManifestsComeBackAsTheyWere) {
  v1::ScratchManifest manifest;
  manifest.set_target_path("/mnt/a \"b\"");
  manifest.set_pid(7);
  manifest.set_directory_inode(UINT64_MAX);
  const std::string path = root_ + "/1-1.manifest";
  ASSERT_TRUE(WriteManifest(path, manifest).ok());
  manifest.set_pid(8);
  ASSERT_TRUE(WriteManifest(path, manifest).ok());
  const absl::StatusOr<v1::ScratchManifest> read = ReadManifest(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), manifest.SerializeAsString());
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_TRUE(RemoveManifest(path).ok());
  EXPECT_TRUE(RemoveManifest(path).ok());
  EXPECT_EQ(ReadManifest(path).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ScratchTest, AStateDirectoryThatIsGoneIsNamed) {
  const absl::Status status = WriteManifest(root_ + "/none/1-1.manifest", {});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(root_ + "/none"));
}

}  // namespace
}  // namespace fleetmark::agent
