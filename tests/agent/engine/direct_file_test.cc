#include "agent/engine/direct_file.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/loop_device.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::agent {
namespace {

constexpr long kTmpfsMagic = 0x01021994;

std::string FileIn(const std::string& directory) {
  const std::string path = directory + "/file";
  test::WriteFile(path, std::string(1 << 20, 'x'));
  sync();
  return path;
}

// C-003: on kernels from 6.6 a direct open and read of tmpfs succeed; that is not direct I/O.
TEST(ProbeDirectTest, IsNotEffectiveInMemory) {
  struct statfs facts {};
  if (statfs("/dev/shm", &facts) != 0 || facts.f_type != kTmpfsMagic) GTEST_SKIP() << "/dev/shm is no tmpfs here";
  const test::TempDirectory directory("/dev/shm");
  const DirectSupport support = ProbeDirect(FileIn(directory.path()));
  EXPECT_TRUE(support.requested);
  EXPECT_FALSE(support.effective);
  EXPECT_FALSE(support.reason.empty());
}

TEST(ProbeDirectTest, IsEffectiveOnADisksFileSystem) {
  absl::StatusOr<test::MountedImage> image = test::MountedImage::Make(uint64_t{16} << 20);
  if (!image.ok()) GTEST_SKIP() << image.status().message();
  const DirectSupport support = ProbeDirect(FileIn(image->path()));
  EXPECT_TRUE(support.effective) << support.reason;
  EXPECT_GE(support.offset_alignment, 1u);
  EXPECT_LE(support.offset_alignment, 4096u);
}

TEST(ProbeDirectTest, AMissingFileHasAReason) {
  const test::TempDirectory directory;
  const DirectSupport support = ProbeDirect(directory / "nothing");
  EXPECT_FALSE(support.effective);
  EXPECT_THAT(support.reason, ::testing::HasSubstr("(ENOENT)"));
}

TEST(OpenFileTest, FollowsNoSymbolicLink) {
  const test::TempDirectory directory;
  test::WriteFile(directory / "real", "x");
  ASSERT_EQ(symlink((directory / "real").c_str(), (directory / "link").c_str()), 0);
  const absl::StatusOr<int> fd = OpenFile(directory / "link", false, false);
  ASSERT_FALSE(fd.ok());
  EXPECT_THAT(std::string(fd.status().message()), ::testing::HasSubstr(directory / "link"));
}

}  // namespace
}  // namespace fleetmark::agent
