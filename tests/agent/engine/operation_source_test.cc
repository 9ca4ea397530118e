#include "agent/engine/operation_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fleetmark::agent {
namespace {

using ::testing::Ne;

std::vector<uint64_t> Offsets(uint64_t pass, uint64_t lane) {
  IoJob job;
  job.file_bytes = 1 << 30;
  job.block_bytes = 4096;
  job.pass = pass;
  SequentialCursor cursor;
  OperationSource source(job, lane, cursor);
  std::vector<uint64_t> offsets(32);
  for (uint64_t& offset : offsets) offset = source.Next().offset;
  return offsets;
}

// What one job has read, the next would get from the drive's cache.
TEST(OperationSourceTest, EveryLaneAndEveryPassHasOffsetsOfItsOwn) {
  EXPECT_EQ(Offsets(1, 0), Offsets(1, 0));
  EXPECT_THAT(Offsets(1, 1), Ne(Offsets(1, 0)));
  EXPECT_THAT(Offsets(2, 0), Ne(Offsets(1, 0)));
  EXPECT_THAT(Offsets(2, 0), Ne(Offsets(1, 1)));
}

}  // namespace
}  // namespace fleetmark::agent
