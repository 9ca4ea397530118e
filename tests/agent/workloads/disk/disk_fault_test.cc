// What disk workloads say when the disk lets them down: full, read-only, broken, exchanged.
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "agent/workloads/disk/disk_dd.h"
#include "agent/workloads/disk/disk_profile.h"
#include "gmock/gmock.h"
#include "tests/agent/workloads/disk/target_fixture.h"

namespace fleetmark::agent {
namespace {

using test::NumberParameter;
using test::TextParameter;
using ::testing::HasSubstr;

class DiskFaultTest : public TargetFixture {
 protected:
  void BeginProfile(double size_mib, const std::string& operations) {
    Begin(DiskProfileEntry(), {{"size", NumberParameter(size_mib * kMiB)},
                               {"seconds", NumberParameter(0.2)},
                               {"ramp", NumberParameter(0.05)},
                               {"operations", TextParameter(operations)}});
  }
};

// C-094 (b), C-162: path, operation, offset, errno, bytes written, what is free.
TEST_F(DiskFaultTest, FullDiskWhileFilling) {
  if (!MakeTarget(uint64_t{24} << 20)) return;
  BeginProfile(64, "read");
  const absl::Status status = workload_->Prepare(*context_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(agent::IsSkipped(status));
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(scratch() + "/fleetmark-profile.dat"));
  EXPECT_THAT(message, HasSubstr("write 1048576 bytes at offset "));
  EXPECT_THAT(message, HasSubstr("(ENOSPC)"));
  EXPECT_THAT(message, HasSubstr(" written so far"));
  EXPECT_THAT(message, HasSubstr(" inodes free"));
  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(DiskFaultTest, FullDiskInDd) {
  if (!MakeTarget(uint64_t{24} << 20)) return;
  Begin(DiskDdEntry(), {{"size", NumberParameter(64 * kMiB)}});
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(ENOSPC)"));
  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

// C-095: a file system that turns read-only is a failure with its errno, not 0 MB/s.
TEST_F(DiskFaultTest, ReadOnlyFileSystem) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile(16, "write");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  if (mount(nullptr, image_->path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    GTEST_SKIP() << "cannot remount read-only";
  }
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(agent::IsSkipped(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(EROFS)"));
  EXPECT_EQ(repetition.measurements_size(), 0);
}

TEST_F(DiskFaultTest, ReadErrorNamesTheOffset) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile(32, "read");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  ASSERT_EQ(truncate(backing_file().c_str(), 4 << 20), 0);  // most of the disk is gone
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(EIO)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("at offset "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("fleetmark-profile.dat"));
}

TEST_F(DiskFaultTest, TargetExchangedMeanwhile) {
  if (!MakeTarget(uint64_t{64} << 20)) return;
  BeginProfile(16, "read");
  ASSERT_TRUE(workload_->Prepare(*context_).ok());
  ASSERT_EQ(mount("tmpfs", scratch().c_str(), "tmpfs", 0, nullptr), 0);
  v1::Repetition repetition;
  const absl::Status status = workload_->RunOnce(*context_, repetition);
  umount2(scratch().c_str(), MNT_DETACH);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the target changed while it was measured"));
  workload_->Cleanup(*context_);
  EXPECT_EQ(FilesLeft(), 0u);
}

}  // namespace
}  // namespace fleetmark::agent
