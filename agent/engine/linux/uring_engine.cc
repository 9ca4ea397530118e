// io_uring: one ring per thread of the job, registered buffers and file where the limits allow it. No polling threads.
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_engine.h"
#include "agent/engine/lane_runner.h"
#include "agent/engine/operation_source.h"
#include "agent/engine/transfer.h"

namespace fleetmark::agent {
namespace {

constexpr unsigned kMostDepth = 4096;

// Where operations return faster than this, waking up for each would cost more than the operation itself (and the
// waking slows the device down where it is another thread of this machine: loop, zram, virtio). Then the lane sleeps
// until an eighth of the depth is back: what returns first is seen at most an eighth of the queue's own latency later.
// No timer guards the wait: arming one costs as much as it would save in a virtual machine.
constexpr int64_t kGroupBelowNs = 20'000;
constexpr unsigned kGroupShare = 8;
constexpr unsigned kCompletionsPerLook = 256;

// The kernel hands a submission to the device as a whole. Where many operations return at once, the first of their
// successors are submitted while the rest is still being prepared: the device is not left waiting (5 to 8 % more
// operations from a loop device; 4, 8 and 12 do alike, 2 and 16 less).
constexpr unsigned kSubmittedAtOnce = 8;

// Newer kernels first: completions are delivered when this thread asks for them, then without interrupting it.
constexpr struct {
  unsigned flags;
  const char* name;
} kSetups[] = {
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "deferred task work"},
    {IORING_SETUP_COOP_TASKRUN, "cooperative task work"},
    {0, ""},
};

class UringLane : public Lane {
 public:
  UringLane(const IoJob& job, unsigned thread)
      : job_(job), thread_(thread), cursor_(MakeCursor(job, thread)), source_(job, thread, *cursor_) {}
  ~UringLane() override {
    if (ring_made_) io_uring_queue_exit(&ring_);
  }

  absl::Status SetUp() override {
    if (absl::Status status = MakeRing(); !status.ok()) return status;
    if (absl::Status status = MakeSlots(); !status.ok()) return status;
    fixed_file_ = io_uring_register_files(&ring_, &job_.fd, 1) == 0;
    RegisterBuffers();
    fast_group_ = std::max(1u, job_.depth / kGroupShare);
    group_below_ticks_ = TickClock::Get().FromNs(kGroupBelowNs);
    io_uring_register_ring_fd(&ring_);  // saves a look-up per call; older kernels go without
    return absl::OkStatus();
  }

  void Loop(LaneRecorder& recorder, const std::atomic<bool>& stop) override {
    const TickClock& clock = TickClock::Get();
    uint64_t now = clock.Now();
    last_look_ = now;
    for (unsigned slot = 0; slot < job_.depth; ++slot) Prepare(slot, now);
    unsigned in_flight = job_.depth;
    bool open = true;
    while (open && !stop.load(std::memory_order_relaxed)) {
      if (const int error = Enter(group_); error != 0) [[unlikely]] {
        recorder.Fail({error, job_.writes(), slots_[0].operation.offset, job_.block_bytes});
        break;
      }
      now = clock.Now();
      recorder.BeginBatch(now);
      unsigned head;
      io_uring_cqe* cqe;
      unsigned returned = 0;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        ++returned;
        Slot& slot = slots_[cqe->user_data];
        if (cqe->res != static_cast<int>(job_.block_bytes)) [[unlikely]] {
          if (!Retry(slot, cqe->res, recorder)) {
            open = false;
            continue;
          }
        }
        recorder.Complete(slot.operation.write, slot.submitted);
        finished_[returned_ops_++] = static_cast<unsigned>(cqe->user_data);
      }
      io_uring_cq_advance(&ring_, returned);
      in_flight -= returned;
      ChooseGroup(returned, now);
      open = recorder.EndBatch() && open;
      if (open) {
        for (unsigned i = 0; i < returned_ops_; ++i) {
          // What could not be submitted stays queued for the next Enter(), which judges errors.
          if (i > 0 && i % kSubmittedAtOnce == 0) io_uring_submit(&ring_);
          Prepare(finished_[i], now);
        }
        in_flight += returned_ops_;
      }
      returned_ops_ = 0;
    }
    Drain(in_flight, recorder);
  }

  std::string Details() const override {
    std::string details = fixed_buffers_ ? "fixed buffers" : "plain buffers";
    absl::StrAppend(&details, fixed_file_ ? ", registered file" : ", plain file");
    if (*setup_name_ != '\0') absl::StrAppend(&details, ", ", setup_name_);
    if (grouped_) absl::StrAppend(&details, ", completions in groups of ", fast_group_);
    return details;
  }

 private:
  // One operation in flight and the memory it may use.
  struct Slot {
    Operation operation;
    uint64_t submitted = 0;
    uint8_t* read_block = nullptr;
    uint8_t* pool = nullptr;  // pool_blocks_ blocks, used in turn
    size_t next_pool_block = 0;
    uint8_t* current = nullptr;
  };

  absl::Status MakeRing() {
    int result = -EINVAL;
    for (const auto& setup : kSetups) {
      io_uring_params params{};
      params.flags = setup.flags;
      result = io_uring_queue_init_params(job_.depth, &ring_, &params);
      if (result == 0) {
        ring_made_ = true;
        setup_name_ = setup.name;
        return absl::OkStatus();
      }
      if (result != -EINVAL) break;
    }
    return absl::UnavailableError(absl::StrFormat(
        "engine io_uring cannot be used here: io_uring_setup: %s (forbidden by kernel.io_uring_disabled, by a seccomp "
        "filter, or not in this kernel)",
        std::strerror(-result)));
  }

  absl::Status MakeSlots() {
    slots_.resize(job_.depth);
    finished_.resize(job_.depth);
    if (job_.reads()) {
      absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(size_t{job_.block_bytes} * job_.depth);
      if (!buffer.ok()) return buffer.status();
      read_buffer_ = *std::move(buffer);
    }
    if (job_.writes()) {
      pool_blocks_ = job_.pool->size() / (size_t{job_.depth} * job_.threads) / job_.block_bytes;
    }
    for (unsigned i = 0; i < job_.depth; ++i) {
      if (job_.reads()) slots_[i].read_block = read_buffer_.data() + size_t{i} * job_.block_bytes;
      if (job_.writes()) {
        const size_t slot = size_t{thread_} * job_.depth + i;
        slots_[i].pool = job_.pool->data() + slot * pool_blocks_ * job_.block_bytes;
      }
    }
    return absl::OkStatus();
  }

  // Buffers 0..depth-1 are for reading, the next for writing; only the kinds the job has. Locked memory is limited for
  // ordinary users: a smaller part of the pool, then none at all.
  void RegisterBuffers() {
    if (TryRegister()) return;
    if (job_.writes() && pool_blocks_ > 1) {
      pool_blocks_ = 1;
      if (TryRegister()) return;
    }
    fixed_buffers_ = false;
  }

  bool TryRegister() {
    std::vector<iovec> vectors;
    if (job_.reads()) {
      for (const Slot& slot : slots_) vectors.push_back({slot.read_block, job_.block_bytes});
    }
    first_write_buffer_ = static_cast<unsigned>(vectors.size());
    if (job_.writes()) {
      for (const Slot& slot : slots_) vectors.push_back({slot.pool, pool_blocks_ * job_.block_bytes});
    }
    fixed_buffers_ = io_uring_register_buffers(&ring_, vectors.data(), static_cast<unsigned>(vectors.size())) == 0;
    return fixed_buffers_;
  }

  // Fills a submission for the slot's next operation.
  void Prepare(unsigned index, uint64_t now) noexcept {
    Slot& slot = slots_[index];
    slot.operation = source_.Next();
    slot.submitted = now;
    if (slot.operation.write) {
      slot.current = slot.pool + slot.next_pool_block * job_.block_bytes;
      if (++slot.next_pool_block == pool_blocks_) slot.next_pool_block = 0;
      job_.pool->Stamp(slot.current, job_.block_bytes, slot.operation.offset, (job_.pass << 40) + ++writes_);
    } else {
      slot.current = slot.read_block;
    }
    Queue(index);
  }

  void Queue(unsigned index) noexcept {
    const Slot& slot = slots_[index];
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);  // never null: the ring holds the whole depth
    const int fd = fixed_file_ ? 0 : job_.fd;
    const unsigned buffer = index + (slot.operation.write ? first_write_buffer_ : 0);
    const uint64_t offset = slot.operation.offset;
    if (fixed_buffers_) {
      const int fixed = static_cast<int>(buffer);
      if (slot.operation.write) {
        io_uring_prep_write_fixed(sqe, fd, slot.current, job_.block_bytes, offset, fixed);
      } else {
        io_uring_prep_read_fixed(sqe, fd, slot.current, job_.block_bytes, offset, fixed);
      }
    } else if (slot.operation.write) {
      io_uring_prep_write(sqe, fd, slot.current, job_.block_bytes, offset);
    } else {
      io_uring_prep_read(sqe, fd, slot.current, job_.block_bytes, offset);
    }
    if (fixed_file_) sqe->flags |= IOSQE_FIXED_FILE;
    sqe->user_data = index;
  }

  // Looks at the pace now and then, and decides for how many completions to wait.
  void ChooseGroup(unsigned returned, uint64_t now) noexcept {
    since_look_ += returned;
    if (since_look_ < kCompletionsPerLook) return;
    const bool fast = now - last_look_ < group_below_ticks_ * since_look_;
    group_ = fast ? fast_group_ : 1;
    grouped_ = grouped_ || group_ > 1;
    last_look_ = now;
    since_look_ = 0;
  }

  // Submits what is prepared and waits for so many completions. REQUIRES: that many in flight. errno, or 0.
  int Enter(unsigned completions) noexcept {
    for (;;) {
      const int result = io_uring_submit_and_wait(&ring_, completions);
      if (result >= 0) return 0;
      if (result != -EINTR && result != -EAGAIN && result != -EBUSY) return -result;
    }
  }

  // The operation came back short or failed. False: it failed for good.
  bool Retry(Slot& slot, int moved, LaneRecorder& recorder) {
    const bool again = moved >= 0 || moved == -EAGAIN || moved == -EINTR;
    const int error =
        again ? RetryTransfer(job_.fd, slot.operation.write, slot.current, job_.block_bytes, slot.operation.offset)
              : -moved;
    if (error == 0) return true;
    recorder.Fail({error, slot.operation.write, slot.operation.offset, job_.block_bytes});
    return false;
  }

  // Nothing may be in flight when the buffers go away.
  void Drain(unsigned in_flight, LaneRecorder& recorder) {
    while (in_flight > 0) {
      if (const int error = Enter(1); error != 0) {
        recorder.Fail({error, job_.writes(), 0, job_.block_bytes});
        return;
      }
      unsigned head;
      io_uring_cqe* cqe;
      unsigned returned = 0;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        ++returned;
        Slot& slot = slots_[cqe->user_data];
        if (cqe->res == static_cast<int>(job_.block_bytes) || Retry(slot, cqe->res, recorder)) {
          recorder.CompleteLate(slot.operation.write);
        }
      }
      io_uring_cq_advance(&ring_, returned);
      in_flight -= std::min(returned, in_flight);
    }
  }

  const IoJob& job_;
  const unsigned thread_;
  std::unique_ptr<SequentialCursor> cursor_;
  OperationSource source_;
  AlignedBuffer read_buffer_;
  std::vector<Slot> slots_;
  std::vector<unsigned> finished_;
  unsigned returned_ops_ = 0;
  unsigned group_ = 1;
  unsigned fast_group_ = 1;
  unsigned since_look_ = 0;
  uint64_t last_look_ = 0;
  uint64_t group_below_ticks_ = 0;
  bool grouped_ = false;
  size_t pool_blocks_ = 0;
  unsigned first_write_buffer_ = 0;
  uint64_t writes_ = 0;
  io_uring ring_{};
  bool ring_made_ = false;
  bool fixed_file_ = false;
  bool fixed_buffers_ = false;
  const char* setup_name_ = "";
};

class UringEngine : public IoEngine {
 public:
  std::string_view name() const override { return "io_uring"; }
  bool Supports(const IoJob& job) const override { return job.depth <= kMostDepth && job.threads <= 512; }
  absl::Status Run(const IoJob& job, const JobHooks& hooks, JobResult& result) override {
    if (absl::Status status = CheckJob(job); !status.ok()) return status;
    if (!Supports(job)) {
      return absl::UnavailableError(
          absl::StrFormat("engine io_uring keeps at most %d operations in flight per thread", kMostDepth));
    }
    std::vector<std::unique_ptr<Lane>> lanes;
    for (unsigned thread = 0; thread < job.threads; ++thread) lanes.push_back(std::make_unique<UringLane>(job, thread));
    return RunLanes(job, hooks, std::move(lanes), result);
  }
};

}  // namespace

std::unique_ptr<IoEngine> MakeUringEngine() { return std::make_unique<UringEngine>(); }

}  // namespace fleetmark::agent
