// BlockCopy: the loop of dd, and of our own sequential phases: block by block from a file or a data pool, to a file or
// nowhere.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_job.h"
#include "agent/workloads/disk/watched.h"

namespace fleetmark::agent {

// Bytes per 100 ms since Start(). Adding allocates nothing; after ten minutes everything falls into the last interval.
class IntervalSeries {
 public:
  IntervalSeries();
  void Start(int64_t now_ns) noexcept;
  void Add(int64_t now_ns, uint64_t bytes) noexcept;
  int64_t start_ns() const { return start_ns_; }
  // The intervals until `now_ns`; the last is shorter.
  std::vector<RateInterval> Finish(int64_t now_ns) const;

 private:
  std::vector<uint64_t> bytes_;
  int64_t start_ns_ = 0;
};

struct BlockCopy {
  int in = -1;         // -1: the data comes from the pool (or is whatever the buffer holds)
  int out = -1;        // -1: nowhere
  uint64_t bytes = 0;  // a whole number of blocks
  uint32_t block_bytes = 1u << 20;
  uint8_t* buffer = nullptr;       // one block; ignored with a pool
  const DataPool* pool = nullptr;  // stamped and written
  uint64_t pass = 0;
  uint64_t offset = 0;     // of the first block, in both files
  bool positioned = true;  // pread and pwrite; false for devices such as /dev/zero
};

// The timed section. Counts into `watched` and `series` (may be null); ends early with Cancelled on watched.stop. An
// error names the operation and its offset.
absl::Status RunBlockCopy(const BlockCopy& copy, Watched& watched, IntervalSeries* series);

}  // namespace fleetmark::agent
