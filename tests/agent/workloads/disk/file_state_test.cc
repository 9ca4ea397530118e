#include "agent/workloads/disk/file_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "agent/platform/owned_fd.h"
#include "agent/platform/usage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/loop_device.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kWhole = uint64_t{8} << 20;

class FileStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<test::MountedImage> image = test::MountedImage::Make(uint64_t{32} << 20);
    if (!image.ok()) GTEST_SKIP() << image.status().message();
    image_.emplace(*std::move(image));
    file_ = OwnedFd(open((image_->path() + "/file").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_TRUE(file_.valid());
  }
  void TearDown() override { file_.Close(); }

  void Write(uint64_t offset, uint64_t bytes) {
    const std::vector<char> data(bytes, 'x');
    ASSERT_EQ(pwrite(file_.get(), data.data(), bytes, static_cast<off_t>(offset)), static_cast<ssize_t>(bytes));
  }
  absl::Status Flush() {
    return FlushFile(file_.get(), kWhole, [] { return false; });
  }

  std::optional<test::MountedImage> image_;
  OwnedFd file_;
};

// C-002, first variant.
TEST_F(FileStateTest, SparseFileIsNotWritten) {
  ASSERT_EQ(ftruncate(file_.get(), static_cast<off_t>(kWhole)), 0);
  const absl::Status status = CheckFullyWritten(file_.get(), kWhole);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a hole at offset 0"));
}

// C-002, second variant: space reserved, a tenth of it written.
TEST_F(FileStateTest, ReservedSpaceIsNotWritten) {
  ASSERT_EQ(fallocate(file_.get(), 0, 0, static_cast<off_t>(kWhole)), 0);
  Write(0, kWhole / 8);
  ASSERT_TRUE(Flush().ok());
  const absl::Status status = CheckFullyWritten(file_.get(), kWhole);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("only reserved at offset 1048576"));
}

TEST_F(FileStateTest, AHoleInTheMiddleIsFound) {
  Write(0, kWhole / 2);
  Write(kWhole / 2 + 65536, kWhole / 2 - 65536);
  ASSERT_TRUE(Flush().ok());
  EXPECT_THAT(std::string(CheckFullyWritten(file_.get(), kWhole).message()), HasSubstr("a hole at offset 4194304"));
}

TEST_F(FileStateTest, WrittenFileIsWritten) {
  Write(0, kWhole);
  ASSERT_TRUE(Flush().ok());
  EXPECT_TRUE(CheckFullyWritten(file_.get(), kWhole).ok()) << CheckFullyWritten(file_.get(), kWhole);
  EXPECT_FALSE(CheckFullyWritten(file_.get(), kWhole + 4096).ok());
}

TEST_F(FileStateTest, EvictionLeavesNothingInTheCache) {
  Write(0, kWhole);
  ASSERT_TRUE(Flush().ok());
  EXPECT_LT(EvictFile(file_.get(), kWhole, false), 0.02);
  EXPECT_LT(PageCacheResidency(file_.get(), 0, kWhole).value_or(0), 0.02);
}

// C-006: nothing may turn the flush into nothing.
TEST_F(FileStateTest, FlushBringsEverythingToTheDevice) {
  const auto stack = ResolveStorageStack(image_->path());
  ASSERT_TRUE(stack.ok()) << stack.status();
  const std::string device = image_->device().name();
  const auto before = ReadDeviceCounters(device);
  if (!before) GTEST_SKIP() << "no counters for " << device;
  Write(0, kWhole);
  ASSERT_TRUE(Flush().ok());
  EXPECT_GE(ReadDeviceCounters(device)->written_bytes - before->written_bytes, kWhole);
}

TEST_F(FileStateTest, FlushCanBeStopped) {
  Write(0, kWhole);
  EXPECT_EQ(FlushFile(file_.get(), kWhole, [] { return true; }).code(), absl::StatusCode::kCancelled);
}

TEST(FlushFileTest, ReportsTheKernelsError) {
  const absl::Status status = FlushFile(-1, 4096, [] { return false; });
  EXPECT_THAT(std::string(status.message()), HasSubstr("fsync: Bad file descriptor (EBADF)"));
}

TEST(WaitUntilSettledTest, GivesUpWhenStopped) {
  const StackCounters counters{StorageStack{}};
  // Either all is quiet or the stop ends the wait; it never takes the hour.
  WaitUntilSettled(counters, absl::Hours(1), [] { return true; });
}

}  // namespace
}  // namespace fleetmark::agent
