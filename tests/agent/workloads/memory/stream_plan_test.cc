#include "agent/workloads/memory/stream_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/workloads/workload.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMib = 1ull << 20;
constexpr uint64_t kGib = 1ull << 30;

LastLevelCache Cache(uint64_t bytes) { return {bytes, "sysfs"}; }

// C-015
TEST(StreamPlanTest, ArraysAreFourTimesTheCacheWithinAQuarterOfMemory) {
  struct Case {
    uint64_t cache, available, array;
    bool fits;
  };
  for (const Case& c :
       {Case{6 * kMib, 48 * kGib, 256 * kMib, false}, Case{64 * kMib, 48 * kGib, 256 * kMib, false},
        Case{96 * kMib, 48 * kGib, 384 * kMib, false}, Case{1152 * kMib, 768 * kGib, 4608 * kMib, false},
        Case{96 * kMib, 3 * kGib, 256 * kMib, true}, Case{6 * kMib, kGib, kGib / 12, false}}) {
    const auto plan = PlanStreamArrays(Cache(c.cache), c.available, std::nullopt);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->array_bytes, c.array);
    EXPECT_EQ(plan->fits_in_cache, c.fits) << c.cache;
  }
}

TEST(StreamPlanTest, TooLittleMemoryIsSkippedWithTheNumbers) {
  const auto plan = PlanStreamArrays(Cache(4 * kMib), 512 * kMib, std::nullopt);
  EXPECT_TRUE(agent::IsSkipped(plan.status()));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("512 MiB"));
}

TEST(StreamPlanTest, AFixedSizeIsObeyedOrRefused) {
  auto plan = PlanStreamArrays(Cache(64 * kMib), 24 * kGib, 100 * kMib);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->array_bytes, 100 * kMib);
  EXPECT_TRUE(plan->fits_in_cache);
  plan = PlanStreamArrays(Cache(64 * kMib), kGib, 100 * kMib);
  EXPECT_TRUE(agent::IsSkipped(plan.status()));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("85 MiB")) << "the largest that would be taken";
}

TEST(StreamPlanTest, WithoutAFigureForMemoryTheUsualSizeIsTaken) {
  const auto plan = PlanStreamArrays(Cache(512 * kMib), std::nullopt, std::nullopt);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->array_bytes, 256 * kMib);
  EXPECT_TRUE(plan->fits_in_cache);
}

// C-014
TEST(StreamPlanTest, ARateThatNoMemoryHasIsImplausible) {
  EXPECT_TRUE(IsImplausibleStreamRate(343e12, 64));
  EXPECT_TRUE(IsImplausibleStreamRate(5e12, 128));
  EXPECT_TRUE(IsImplausibleStreamRate(300e9, 1));
  EXPECT_FALSE(IsImplausibleStreamRate(110e9, 1));
  EXPECT_FALSE(IsImplausibleStreamRate(900e9, 96));
}

}  // namespace
}  // namespace fleetmark::agent
