// What an I/O engine is asked to do, and what it yields. Plain data; no protos.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram/histogram.h"

namespace fleetmark::agent {

class DataPool;

enum class AccessPattern { kSequential, kRandom };

// One time-based job on one open file. Blocks are `block_bytes` long and aligned to it.
struct IoJob {
  int fd = -1;              // open for what the job does; opened with O_DIRECT if direct
  uint64_t file_bytes = 0;  // [0, file_bytes) is read and written; a whole number of blocks
  uint32_t block_bytes = 0;
  unsigned depth = 1;  // operations in flight per thread
  unsigned threads = 1;
  AccessPattern pattern = AccessPattern::kRandom;
  double read_fraction = 1;  // 1: only reads, 0: only writes; chosen per operation
  double ramp_seconds = 0;   // before the window; its operations are not counted
  double run_seconds = 0;    // the window
  uint64_t seed = 1;         // of offsets and of the mix
  uint32_t memory_alignment = 4096;
  DataPool* pool = nullptr;  // REQUIRED for writes: where the data comes from; used by one job at a time
  uint64_t pass = 0;         // no two jobs on a file have the same: it varies the offsets, and is stamped into blocks

  bool reads() const { return read_fraction > 0; }
  bool writes() const { return read_fraction < 1; }
};

struct IoProgress {
  double elapsed_seconds = 0;        // since the start, ramp included
  double rate_bytes_per_second = 0;  // since the report before
};

// Called on the thread that called Run(), never by a timed loop. All may be empty.
struct JobHooks {
  std::function<bool()> cancelled;                  // polled every 50 ms
  std::function<void(const IoProgress&)> progress;  // every 200 ms
  std::function<void()> window_opens;               // the ramp is over: take counters now
  std::function<void()> window_closed;              // all operations have returned: take counters now
};

// The first operation that failed.
struct IoError {
  int error = 0;  // errno
  bool write = false;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // that were asked
};

// A stretch of the window on a 100 ms grid; the first and the last are shorter.
struct RateInterval {
  int64_t start_ns = 0;  // from the start of the window
  int64_t length_ns = 0;
  uint64_t bytes = 0;
};

struct JobResult {
  // The length of the window in which the operations were counted: see LaneRecorder.
  double elapsed_seconds = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  std::shared_ptr<LatencyHistogram> read_latency;  // never null after a run that reads
  std::shared_ptr<LatencyHistogram> write_latency;
  std::vector<RateInterval> series;
  // What was asked between the two window hooks: includes the last operations that were still in flight when the window
  // closed. For comparison with counters taken in the hooks.
  uint64_t hooked_read_bytes = 0;
  uint64_t hooked_written_bytes = 0;
  // Of these, at most so much had been asked before the first hook: a counter of requests has not seen it, one of
  // completions has.
  uint64_t in_flight_at_hook_bytes = 0;
  // Of the whole job, ramp included; also after an error.
  uint64_t total_written_bytes = 0;
  std::optional<IoError> error;
  std::string details;         // "fixed buffers, registered file, deferred task work"
  bool clock_suspect = false;  // the tick clock and CLOCK_MONOTONIC disagree about the length of the job
};

}  // namespace fleetmark::agent
