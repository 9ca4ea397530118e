#include "agent/platform/linux/cache.h"

#include <gtest/gtest.h>

#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kMib = 1ull << 20;
constexpr uint64_t kGib = 1ull << 30;

// C-015
TEST(CacheTest, AVirtualMachineThatRepeatsItsHostIsNotBelieved) {
  CacheClaim claim{508 * kMib, false, 2, true, 24 * kGib};
  LastLevelCache cache = JudgeCacheClaim(claim);
  EXPECT_EQ(cache.source, "implausible");
  EXPECT_EQ(cache.bytes, 64 * kMib);
  claim.from_sysfs = true;
  EXPECT_EQ(JudgeCacheClaim(claim).source, "implausible") << "its sysfs repeats the host just so";
  claim.virtual_machine = false;
  cache = JudgeCacheClaim(claim);
  EXPECT_EQ(cache.source, "sysfs");
  EXPECT_EQ(cache.bytes, 508 * kMib);
}

// C-015
TEST(CacheTest, NoClaimIsTheUsualSizeAndNeverZero) {
  const LastLevelCache cache = JudgeCacheClaim(CacheClaim{});
  EXPECT_EQ(cache.source, "unknown");
  EXPECT_EQ(cache.bytes, 64 * kMib);
}

TEST(CacheTest, AClaimOfOverAThirtySecondOfMemoryIsNotBelieved) {
  EXPECT_EQ(JudgeCacheClaim({33 * kMib, false, 16, false, kGib}).source, "implausible");
  EXPECT_EQ(JudgeCacheClaim({32 * kMib, false, 16, false, kGib}).source, "sysconf");
}

TEST(CacheTest, AddsUpTheDistinctCachesOfTheHighestLevel) {
  const LastLevelCache cache = ReadLastLevelCache(test::MachineTree("old-workstation").root());
  EXPECT_EQ(cache.source, "sysfs");
  EXPECT_EQ(cache.bytes, 24 * kMib) << "eight CPUs, two to a cache of level 2";
}

}  // namespace
}  // namespace fleetmark::agent
