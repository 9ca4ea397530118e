#include "agent/platform/linux/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/platform/machine.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kGibi = 1ull << 30;

// C-017
TEST(CgroupTest, ThreadsFollowMaskCpusetAndQuotaOfEveryLevel) {
  const test::MachineTree tree("container-v2");
  const UsableCpus usable = ReadUsableCpus(tree.root());
  EXPECT_THAT(usable.cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_DOUBLE_EQ(usable.quota, 1.5);
  EXPECT_EQ(usable.threads(), 2u);

  std::vector<v1::UnreadFact> unread;
  const v1::Processor processor = ReadProcessor(tree.root(), unread);
  EXPECT_EQ(processor.online_cpus(), 64u);
  EXPECT_DOUBLE_EQ(processor.usable_cpus(), 1.5);
}

// C-017: -1 is no limit, but the parent's quota is one.
TEST(CgroupTest, ReadsVersionOne) {
  const test::MachineTree tree("container-v1");
  const UsableCpus usable = ReadUsableCpus(tree.root());
  EXPECT_THAT(usable.cpus, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_DOUBLE_EQ(usable.quota, 2);
  EXPECT_EQ(usable.threads(), 2u);
  EXPECT_FALSE(ReadMemoryLimit(tree.root())) << "2^63 less a page is no limit";
  EXPECT_EQ(ReadThrottledNs(tree.root()), 7e6);
}

TEST(CgroupTest, MaxIsNoLimit) {
  test::MachineTree tree("container-v2");
  tree.Add("= /sys/fs/cgroup/pod/cpu.max max 100000\n");
  EXPECT_FALSE(ReadCpuQuota(tree.root()));
  EXPECT_EQ(ReadUsableCpus(tree.root()).threads(), 4u);
}

TEST(CgroupTest, MemoryLeftCountsFilePagesAsFree) {
  const test::MachineTree tree("container-v2");
  const auto limit = ReadMemoryLimit(tree.root());
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->limit_bytes, 4 * kGibi);
  EXPECT_EQ(limit->left_bytes, 2 * kGibi);
  EXPECT_EQ(ReadAvailableMemory(tree.root()), 2 * kGibi);
  EXPECT_EQ(ReadThrottledNs(tree.root()), 2.5e6);
}

// A container whose mount shows only its own part of the hierarchy.
TEST(CgroupTest, FindsTheGroupBelowAMountOfAPart) {
  test::MachineTree tree;
  tree.Add(
      "== /proc/self/mountinfo\n"
      "36 25 0:32 /pod/agent /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
      "= /proc/self/cgroup 0::/pod/agent/inner\n"
      "= /sys/fs/cgroup/cpu.max 300000 100000\n"
      "= /sys/fs/cgroup/inner/cpu.max 50000 100000\n");
  EXPECT_EQ(ReadCpuQuota(tree.root()), 0.5);
}

TEST(CgroupTest, NothingReadableIsNoLimit) {
  const test::MachineTree empty;
  EXPECT_FALSE(ReadCpuQuota(empty.root()));
  EXPECT_FALSE(ReadMemoryLimit(empty.root()));
  EXPECT_FALSE(ReadThrottledNs(empty.root()));
  EXPECT_EQ(ReadUsableCpus(empty.root()).threads(), 1u);
}

TEST(CgroupTest, QuotaIsRoundedUpButNeverOverTheMask) {
  UsableCpus usable;
  usable.cpus = {0, 1, 2, 3};
  for (const auto& [quota, threads] :
       std::vector<std::pair<double, unsigned>>{{0.1, 1}, {1, 1}, {1.01, 2}, {3.5, 4}, {8, 4}, {0, 4}}) {
    usable.quota = quota;
    EXPECT_EQ(usable.threads(), threads) << quota;
  }
}

}  // namespace
}  // namespace fleetmark::agent
