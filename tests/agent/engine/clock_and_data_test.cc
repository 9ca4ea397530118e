#include <array>
#include <cstring>
#include <set>
#include <string>

#include "agent/engine/data_pool.h"
#include "agent/engine/operation_source.h"
#include "agent/engine/tick_clock.h"
#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

TEST(TickClockTest, AgreesWithTheKernelsClock) {
  const TickClock& clock = TickClock::Get();
  const uint64_t begin = clock.Now();
  const int64_t begin_ns = TickClock::MonotonicNs();
  while (TickClock::MonotonicNs() - begin_ns < 50'000'000) {
  }
  const uint64_t end = clock.Now();
  const int64_t end_ns = TickClock::MonotonicNs();
  // Readings are next to each other, but a preemption may come between: the outer pair bounds the inner.
  EXPECT_LE(static_cast<double>(clock.ToNs(begin, end)), static_cast<double>(end_ns - begin_ns) * 1.01 + 20e6);
  EXPECT_GE(static_cast<double>(clock.ToNs(begin, end)), 50e6 * 0.99);
}

// C-018: two readings that went backwards are negative, not 584 years.
TEST(TickClockTest, BackwardsIsNegative) {
  const TickClock& clock = TickClock::Get();
  EXPECT_LT(clock.ToNs(1'000'000, 999'000), 0);
}

TEST(TickClockTest, ConvertsBothWays) {
  const TickClock& clock = TickClock::Get();
  for (const int64_t ns : {1'000'000ll, 5'000'000'000ll, 86'400'000'000'000ll}) {
    EXPECT_NEAR(static_cast<double>(clock.ToNs(0, clock.FromNs(ns))), static_cast<double>(ns),
                static_cast<double>(ns) * 1e-6 + 2);
  }
}

// C-005
TEST(DataPoolTest, BlocksAreUniqueAndBytesAreEven) {
  absl::StatusOr<DataPool> pool = DataPool::Make(42, size_t{1} << 20);
  ASSERT_TRUE(pool.ok());
  std::set<std::string> blocks;
  std::array<size_t, 256> counts{};
  for (size_t at = 0; at < pool->size(); at += 4096) {
    blocks.emplace(reinterpret_cast<const char*>(pool->data() + at), 4096);
    for (size_t i = 0; i < 4096; ++i) ++counts[pool->data()[at + i]];
  }
  EXPECT_EQ(blocks.size(), pool->size() / 4096);
  for (const size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 4096, 400);
}

TEST(DataPoolTest, StampsEvery4KiBWithSeedOffsetAndPass) {
  absl::StatusOr<DataPool> pool = DataPool::Make(42, 65536);
  ASSERT_TRUE(pool.ok());
  pool->Stamp(pool->data(), 16384, 1'000'000'000'000, 9);
  for (size_t at = 0; at < 16384; at += 4096) {
    uint64_t stamp[3];
    std::memcpy(stamp, pool->data() + at, sizeof stamp);
    EXPECT_EQ(stamp[0], 42u);
    EXPECT_EQ(stamp[1], 1'000'000'000'000 + at);
    EXPECT_EQ(stamp[2], 9u);
  }
}

IoJob SmallJob() {
  IoJob job;
  job.file_bytes = uint64_t{100} * 4096;
  job.block_bytes = 4096;
  return job;
}

TEST(OperationSourceTest, SequentialGoesRound) {
  IoJob job = SmallJob();
  job.pattern = AccessPattern::kSequential;
  const auto cursor = MakeCursor(job, 0);
  OperationSource source(job, 0, *cursor);
  for (uint64_t i = 0; i < 250; ++i) EXPECT_EQ(source.Next().offset, i % 100 * 4096);
}

TEST(OperationSourceTest, RandomCoversTheFileAndNothingElse) {
  const IoJob job = SmallJob();
  const auto cursor = MakeCursor(job, 0);
  OperationSource source(job, 0, *cursor);
  std::set<uint64_t> seen;
  for (int i = 0; i < 5000; ++i) {
    const Operation operation = source.Next();
    ASSERT_EQ(operation.offset % 4096, 0u);
    ASSERT_LT(operation.offset, job.file_bytes);
    ASSERT_FALSE(operation.write);
    seen.insert(operation.offset);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(OperationSourceTest, SameSeedSameOperationsOtherLaneOthers) {
  const IoJob job = SmallJob();
  const auto cursor = MakeCursor(job, 0);
  OperationSource a(job, 0, *cursor), b(job, 0, *cursor), c(job, 1, *cursor);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t offset = a.Next().offset;
    EXPECT_EQ(offset, b.Next().offset);
    different += offset != c.Next().offset ? 1 : 0;
  }
  EXPECT_GT(different, 80);
}

TEST(OperationSourceTest, MixedSequentialWritesStartHalfAFileAhead) {
  IoJob job = SmallJob();
  job.pattern = AccessPattern::kSequential;
  job.read_fraction = 0.5;
  const auto cursor = MakeCursor(job, 0);
  OperationSource source(job, 0, *cursor);
  bool read = false, wrote = false;
  while (!read || !wrote) {
    const Operation operation = source.Next();
    bool& seen = operation.write ? wrote : read;
    if (!seen) {
      EXPECT_EQ(operation.offset, operation.write ? 50u * 4096 : 0u);
    }
    seen = true;
  }
}

// C-168: offsets beyond 4 GiB.
TEST(OperationSourceTest, ReachesPastFourGiB) {
  IoJob job = SmallJob();
  job.file_bytes = uint64_t{16} << 40;
  const auto cursor = MakeCursor(job, 0);
  OperationSource source(job, 0, *cursor);
  uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) most = std::max(most, source.Next().offset);
  EXPECT_GT(most, uint64_t{15} << 40);
}

}  // namespace
}  // namespace fleetmark::agent
