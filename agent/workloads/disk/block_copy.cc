#include "agent/workloads/disk/block_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_format.h"
#include "agent/engine/io_engine.h"
#include "agent/engine/tick_clock.h"

namespace fleetmark::agent {
namespace {

constexpr int64_t kIntervalNs = 100'000'000;
constexpr size_t kIntervals = 6000;

// Moves the whole block; 0 or an errno (EIO for an end of file where there should be none).
int MoveBlock(int fd, bool write_it, bool positioned, uint8_t* buffer, uint32_t bytes, uint64_t offset) noexcept {
  uint32_t done = 0;
  while (done < bytes) {
    const auto at = static_cast<off_t>(offset + done);
    ssize_t moved;
    if (positioned) {
      moved = write_it ? pwrite(fd, buffer + done, bytes - done, at) : pread(fd, buffer + done, bytes - done, at);
    } else {
      moved = write_it ? write(fd, buffer + done, bytes - done) : read(fd, buffer + done, bytes - done);
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return write_it ? ENOSPC : EIO;
    done += static_cast<uint32_t>(moved);
  }
  return 0;
}

absl::Status Failed(int error, const char* operation, uint32_t bytes, uint64_t offset) {
  return IoErrorStatus(error, absl::StrFormat("%s %d bytes at offset %d", operation, bytes, offset));
}

}  // namespace

IntervalSeries::IntervalSeries() : bytes_(kIntervals, 0) {}

void IntervalSeries::Start(int64_t now_ns) noexcept { start_ns_ = now_ns; }

void IntervalSeries::Add(int64_t now_ns, uint64_t bytes) noexcept {
  const auto index = static_cast<size_t>((now_ns - start_ns_) / kIntervalNs);
  bytes_[std::min(index, kIntervals - 1)] += bytes;
}

std::vector<RateInterval> IntervalSeries::Finish(int64_t now_ns) const {
  std::vector<RateInterval> intervals;
  const int64_t length = now_ns - start_ns_;
  for (size_t i = 0; i < kIntervals; ++i) {
    const int64_t from = static_cast<int64_t>(i) * kIntervalNs;
    if (from >= length) break;
    const int64_t to = i + 1 == kIntervals ? length : std::min(from + kIntervalNs, length);
    intervals.push_back({from, to - from, bytes_[i]});
  }
  return intervals;
}

absl::Status RunBlockCopy(const BlockCopy& copy, Watched& watched, IntervalSeries* series) {
  const size_t pool_blocks = copy.pool != nullptr ? copy.pool->size() / copy.block_bytes : 0;
  uint8_t* buffer = copy.buffer;
  size_t pool_block = 0;
  for (uint64_t done = 0; done < copy.bytes; done += copy.block_bytes) {
    if (watched.stop.load(std::memory_order_relaxed)) return absl::CancelledError("stopped");
    const uint64_t offset = copy.offset + done;
    if (copy.pool != nullptr) {
      buffer = copy.pool->data() + pool_block * copy.block_bytes;
      if (++pool_block == pool_blocks) pool_block = 0;
      copy.pool->Stamp(buffer, copy.block_bytes, offset, copy.pass);
    }
    if (copy.in >= 0) {
      const int error = MoveBlock(copy.in, false, copy.positioned, buffer, copy.block_bytes, offset);
      if (error != 0) return Failed(error, "read", copy.block_bytes, offset);
    }
    if (copy.out >= 0) {
      const int error = MoveBlock(copy.out, true, copy.positioned, buffer, copy.block_bytes, offset);
      if (error != 0) return Failed(error, "write", copy.block_bytes, offset);
    }
    watched.bytes.store(done + copy.block_bytes, std::memory_order_relaxed);
    if (series != nullptr) series->Add(TickClock::MonotonicNs(), copy.block_bytes);
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
