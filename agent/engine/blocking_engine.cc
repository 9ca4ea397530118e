// The engines of blocking calls: one thread per operation in flight, each with pread and pwrite.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_engine.h"
#include "agent/engine/lane_runner.h"
#include "agent/engine/operation_source.h"
#include "agent/engine/transfer.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kMostThreads = 512;

class BlockingLane : public Lane {
 public:
  // `slot` of `slots`: which part of the data pool is this lane's own.
  BlockingLane(const IoJob& job, size_t slot, size_t slots, SequentialCursor& cursor)
      : job_(job), source_(job, slot, cursor) {
    if (!job.writes()) return;
    const size_t blocks = job.pool->size() / slots / job.block_bytes;
    pool_blocks_ = blocks;
    pool_ = job.pool->data() + slot * blocks * job.block_bytes;
  }

  absl::Status SetUp() override {
    if (!job_.reads()) return absl::OkStatus();
    absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(job_.block_bytes);
    if (!buffer.ok()) return buffer.status();
    read_buffer_ = *std::move(buffer);
    return absl::OkStatus();
  }

  void Loop(LaneRecorder& recorder, const std::atomic<bool>& stop) override {
    const TickClock& clock = TickClock::Get();
    uint64_t submitted = clock.Now();
    while (!stop.load(std::memory_order_relaxed)) {
      const Operation operation = source_.Next();
      uint8_t* const buffer = operation.write ? NextWriteBlock(operation.offset) : read_buffer_.data();
      const ssize_t moved = Transfer(job_.fd, operation.write, buffer, job_.block_bytes, operation.offset);
      if (moved != static_cast<ssize_t>(job_.block_bytes)) [[unlikely]] {
        const int error = moved < 0 && errno != EINTR
                              ? errno
                              : RetryTransfer(job_.fd, operation.write, buffer, job_.block_bytes, operation.offset);
        if (error != 0) {
          recorder.Fail({error, operation.write, operation.offset, job_.block_bytes});
          return;
        }
      }
      const uint64_t now = clock.Now();
      recorder.BeginBatch(now);
      recorder.Complete(operation.write, submitted);
      if (!recorder.EndBatch()) return;
      submitted = now;
    }
  }

 private:
  uint8_t* NextWriteBlock(uint64_t offset) noexcept {
    uint8_t* block = pool_ + pool_block_ * job_.block_bytes;
    if (++pool_block_ == pool_blocks_) pool_block_ = 0;
    job_.pool->Stamp(block, job_.block_bytes, offset, (job_.pass << 40) + ++writes_);
    return block;
  }

  const IoJob& job_;
  OperationSource source_;
  AlignedBuffer read_buffer_;
  uint8_t* pool_ = nullptr;
  size_t pool_blocks_ = 0;
  size_t pool_block_ = 0;
  uint64_t writes_ = 0;
};

absl::Status RunBlocking(const IoJob& job, const JobHooks& hooks, JobResult& result) {
  if (absl::Status status = CheckJob(job); !status.ok()) return status;
  std::vector<std::unique_ptr<SequentialCursor>> cursors;
  std::vector<std::unique_ptr<Lane>> lanes;
  const size_t slots = size_t{job.depth} * job.threads;
  for (unsigned thread = 0; thread < job.threads; ++thread) {
    cursors.push_back(MakeCursor(job, thread));
    for (unsigned slot = 0; slot < job.depth; ++slot) {
      lanes.push_back(std::make_unique<BlockingLane>(job, size_t{thread} * job.depth + slot, slots, *cursors.back()));
    }
  }
  return RunLanes(job, hooks, std::move(lanes), result);
}

class ThreadsEngine : public IoEngine {
 public:
  std::string_view name() const override { return "threads"; }
  bool Supports(const IoJob& job) const override { return uint64_t{job.depth} * job.threads <= kMostThreads; }
  absl::Status Run(const IoJob& job, const JobHooks& hooks, JobResult& result) override {
    if (!Supports(job)) {
      return absl::UnavailableError(absl::StrFormat("engine threads keeps at most %d operations in flight, not %d x %d",
                                                    kMostThreads, job.depth, job.threads));
    }
    return RunBlocking(job, hooks, result);
  }
};

class SyncEngine : public IoEngine {
 public:
  std::string_view name() const override { return "sync"; }
  bool Supports(const IoJob& job) const override { return job.depth == 1; }
  absl::Status Run(const IoJob& job, const JobHooks& hooks, JobResult& result) override {
    if (!Supports(job)) {
      return absl::UnavailableError(absl::StrFormat("engine sync keeps one operation in flight, not %d", job.depth));
    }
    return RunBlocking(job, hooks, result);
  }
};

}  // namespace

std::unique_ptr<IoEngine> MakeThreadsEngine() { return std::make_unique<ThreadsEngine>(); }
std::unique_ptr<IoEngine> MakeSyncEngine() { return std::make_unique<SyncEngine>(); }

std::vector<std::unique_ptr<IoEngine>> MakeEngines() {
  std::vector<std::unique_ptr<IoEngine>> engines;
  if (auto uring = MakeUringEngine()) engines.push_back(std::move(uring));
  engines.push_back(MakeThreadsEngine());
  engines.push_back(MakeSyncEngine());
  return engines;
}

std::unique_ptr<IoEngine> MakeEngine(std::string_view name) {
  for (std::unique_ptr<IoEngine>& engine : MakeEngines()) {
    if (engine->name() == name) return std::move(engine);
  }
  return nullptr;
}

}  // namespace fleetmark::agent
