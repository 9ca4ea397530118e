// The readers on real devices of their own: loop over a disk, loop over memory, read-only, and what a target's problem
// says. Needs root for the loop devices.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>

#include "agent/platform/storage_stack.h"
#include "agent/platform/usage.h"
#include "tests/support/loop_device.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMib = 1ull << 20;

// Writes through the page cache to the device.
void WriteDurably(const std::string& path, size_t bytes) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  const std::string data(bytes, 'd');
  ASSERT_EQ(write(fd, data.data(), data.size()), static_cast<ssize_t>(bytes));
  ASSERT_EQ(fsync(fd), 0);
  close(fd);
}

TEST(DeviceTest, FindsTheDiskUnderAnImageAndCountsWhatReachesIt) {
  const auto image = test::MountedImage::Make(64 * kMib);
  if (!image.ok()) GTEST_SKIP() << image.status().message();
  const auto stack = ResolveStorageStack(image->path());
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_EQ(stack->file_system, "ext4");
  EXPECT_FALSE(stack->in_memory);
  ASSERT_FALSE(stack->layers.empty());
  EXPECT_EQ(stack->layers[0].kind, "loop");
  EXPECT_EQ(stack->layers[0].device, image->device().name());
  EXPECT_TRUE(stack->layers[0].has_counters);

  StackCounters counters(*stack);
  counters.Start();
  const std::string file = image->path() + "/file";
  WriteDurably(file, 8 * kMib);
  ASSERT_TRUE(counters.WrittenBytes());
  EXPECT_GE(*counters.WrittenBytes(), 8 * kMib);

  // C-001: what is in the cache never reaches the device; what was dropped does.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::string buffer(8 * kMib, '\0');
  StackCounters top(*stack);
  top.Start();
  EXPECT_EQ(PageCacheResidency(fd, 0, 8 * kMib), 1.0);
  ASSERT_EQ(pread(fd, buffer.data(), buffer.size(), 0), static_cast<ssize_t>(buffer.size()));
  EXPECT_LT(top.TopReadBytes().value_or(0), kMib);
  ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(PageCacheResidency(fd, 0, 8 * kMib), 0.0);
  ASSERT_EQ(pread(fd, buffer.data(), buffer.size(), 0), static_cast<ssize_t>(buffer.size()));
  EXPECT_GE(top.TopReadBytes().value_or(0), 8 * kMib);
  close(fd);
}

TEST(DeviceTest, AnImageInMemoryIsNoDisk) {
  const auto image = test::MountedImage::Make(64 * kMib, "/dev/shm");
  if (!image.ok()) GTEST_SKIP() << image.status().message();
  const auto stack = ResolveStorageStack(image->path());
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_FALSE(stack->in_memory) << "the file system itself is on a device";
  ASSERT_EQ(stack->layers.size(), 1u);
  EXPECT_TRUE(stack->layers[0].memory_backed);
  const v1::Target target = DescribeTarget("image", image->path(), true);
  EXPECT_EQ(target.problem(), "");
  EXPECT_TRUE(target.memory_backed());
  EXPECT_FALSE(target.in_memory());
  ASSERT_EQ(target.disks_size(), 1);
  EXPECT_EQ(target.disks(0).transport(), "loop");
  EXPECT_TRUE(target.disks(0).is_virtual());
}

// C-022
TEST(DeviceTest, TrafficOnTheTargetsDeviceIsNotQuiet) {
  const auto image = test::MountedImage::Make(64 * kMib, "/dev/shm");
  if (!image.ok()) GTEST_SKIP() << image.status().message();
  QuietProbe probe(image->path());
  WriteDurably(image->path() + "/file", 16 * kMib);
  const std::optional<std::string> busy = probe.Busy();
  ASSERT_TRUE(busy);
  EXPECT_THAT(*busy, HasSubstr("MB/s on " + image->device().name()));
  // What was counted once is not counted again.
  EXPECT_THAT(probe.Busy().value_or(""), testing::Not(HasSubstr("MB/s")));
}

TEST(DeviceTest, AReadOnlyFileSystemIsAProblemInWords) {
  const auto image = test::MountedImage::Make(64 * kMib, "/dev/shm");
  if (!image.ok()) GTEST_SKIP() << image.status().message();
  ASSERT_EQ(mount("", image->path().c_str(), "", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const v1::Target target = DescribeTarget("image", image->path(), false);
  EXPECT_TRUE(target.read_only());
  EXPECT_THAT(target.problem(), HasSubstr("read-only"));
  EXPECT_THAT(target.problem(), HasSubstr(image->path()));
}

TEST(DeviceTest, DescribesADirectoryOfThisMachine) {
  test::TempDirectory directory;
  const v1::Target target = DescribeTarget("default", directory.path(), true);
  EXPECT_EQ(target.problem(), "");
  EXPECT_EQ(target.kind(), v1::TARGET_KIND_DIRECTORY);
  EXPECT_TRUE(target.is_default());
  EXPECT_GT(target.size_bytes(), 0);
  EXPECT_GE(target.size_bytes(), target.free_bytes());
  EXPECT_FALSE(target.file_system().empty());
}

TEST(DeviceTest, ATargetThatCannotBeUsedSaysWhy) {
  test::TempDirectory directory;
  test::WriteFile(directory / "file", "");
  EXPECT_THAT(DescribeTarget("a", directory / "missing", false).problem(), HasSubstr("does not exist"));
  EXPECT_THAT(DescribeTarget("a", directory / "file", false).problem(), HasSubstr("neither a directory nor"));
  EXPECT_THAT(DescribeTarget("a", "relative", false).problem(), HasSubstr("not absolute"));
  EXPECT_THAT(DescribeTarget("a", "/dev/null/x", false).problem(), HasSubstr("/dev/null/x"));
  EXPECT_TRUE(DescribeTarget("a", "/dev/shm", false).in_memory());
}

// C-065: bytes for the system, text for the message.
TEST(DeviceTest, APathThatIsNotTextWorksAndArrivesClean) {
  test::TempDirectory directory;
  const std::string path = directory / "caf\xe9";
  test::WriteFile(path + "/file", "");
  const v1::Target target = DescribeTarget("latin", path, false);
  EXPECT_EQ(target.problem(), "");
  EXPECT_EQ(target.kind(), v1::TARGET_KIND_DIRECTORY);
  EXPECT_THAT(target.path(), HasSubstr("caf\xEF\xBF\xBD"));
  v1::Target copy;
  EXPECT_TRUE(copy.ParseFromString(target.SerializeAsString()));
}

}  // namespace
}  // namespace fleetmark::agent
