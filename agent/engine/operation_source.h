// OperationSource: which operation comes next. For timed loops: no call, no lock (a sequential stream that several
// threads share is one atomic counter).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/engine/io_job.h"
#include "agent/engine/random.h"

namespace fleetmark::agent {

// Where sequential reads and writes of one stream stand, in blocks. Writes start half a file ahead, so that a mix does
// not read what was just written.
struct alignas(128) SequentialCursor {
  std::atomic<uint64_t> read{0};
  std::atomic<uint64_t> write{0};
};

// The stream of one of a job's threads: each starts in its own part of the file.
inline std::unique_ptr<SequentialCursor> MakeCursor(const IoJob& job, unsigned thread) {
  const uint64_t blocks = job.file_bytes / job.block_bytes;
  const uint64_t first = blocks / job.threads * thread;
  auto cursor = std::make_unique<SequentialCursor>();
  cursor->read = first;
  cursor->write = first + (job.reads() ? blocks / 2 : 0);
  return cursor;
}

struct Operation {
  uint64_t offset = 0;
  bool write = false;
};

class OperationSource {
 public:
  // `cursor` outlives the source and may be shared; unused for random jobs. Lanes and passes have
  // sequences of their own: the same offsets again would come from the drive's cache, which no counter shows.
  OperationSource(const IoJob& job, uint64_t lane, SequentialCursor& cursor)
      : random_((job.seed ^ (job.pass * 0x9e3779b97f4a7c15)) * 0x2545f4914f6cdd1d + lane),
        cursor_(cursor),
        blocks_(job.file_bytes / job.block_bytes),
        block_bytes_(job.block_bytes),
        sequential_(job.pattern == AccessPattern::kSequential),
        mixed_(job.reads() && job.writes()),
        write_(!job.reads()),
        read_below_(static_cast<uint32_t>(job.read_fraction * 4294967295.0)) {}

  Operation Next() noexcept {
    Operation operation;
    operation.write = write_;
    if (mixed_) operation.write = static_cast<uint32_t>(random_.Next() >> 32) >= read_below_;
    uint64_t block;
    if (sequential_) {
      std::atomic<uint64_t>& cursor = operation.write ? cursor_.write : cursor_.read;
      block = cursor.fetch_add(1, std::memory_order_relaxed) % blocks_;
    } else {
      block = random_.Below(blocks_);
    }
    operation.offset = block * block_bytes_;
    return operation;
  }

 private:
  Random random_;
  SequentialCursor& cursor_;
  const uint64_t blocks_;
  const uint64_t block_bytes_;
  const bool sequential_;
  const bool mixed_;
  const bool write_;
  const uint32_t read_below_;
};

}  // namespace fleetmark::agent
