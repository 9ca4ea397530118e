// LaneRecorder: what one thread of a job measures. Everything it needs is allocated and touched before the clock
// starts; its hot methods are inline and take no lock.
//
// Alone, a lane's window runs from one completion to another: the first after the ramp opens it and is not counted, the
// first after the planned length is counted and closes it, so that it holds whole operations at a constant depth and a
// rate is exact also for few of them. Lanes of one job share a fixed window instead: some of them may get no CPU for a
// while, and their own windows would then not add up.
//
// Owned by RunLanes (lane_runner.h); written by one lane thread. completed_reads() and completed_writes() may be read
// by any thread; the rest only after the lane has been joined.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/engine/io_job.h"
#include "agent/engine/tick_clock.h"
#include "common/histogram/histogram.h"

namespace fleetmark::agent {

class alignas(128) LaneRecorder {
 public:
  static constexpr int64_t kIntervalNs = 100'000'000;

  explicit LaneRecorder(const IoJob& job);

  // Before the lane starts. All in ticks; `ramp_end` is the planned start of the window, `length` its planned length.
  void SetWindow(uint64_t start, uint64_t ramp_end, uint64_t length, bool shared) noexcept;

  // Operations have returned, `now`.
  void BeginBatch(uint64_t now) noexcept {
    now_ = now;
    if (shared_) {
      counted_ = now >= ramp_end_ && now < run_end_;
      return;
    }
    counted_ = open_;
    if (!open_ && now >= ramp_end_) {
      open_ = true;
      begin_ = now;
      run_end_ = now + length_;
    }
  }

  // One of them, which was submitted at `submitted`.
  void Complete(bool write, uint64_t submitted) noexcept {
    ++batch_[write];
    if (counted_) histograms_[write]->Record(clock_.ToNs(submitted, now_));
  }

  // False once the window is over: issue no more.
  bool EndBatch() noexcept {
    const uint64_t reads = batch_[0];
    const uint64_t writes = batch_[1];
    batch_[0] = batch_[1] = 0;
    total_[0].store(total_[0].load(std::memory_order_relaxed) + reads, std::memory_order_relaxed);
    total_[1].store(total_[1].load(std::memory_order_relaxed) + writes, std::memory_order_relaxed);
    if (!counted_) return !shared_ || now_ < run_end_;
    counted_total_[0] += reads;
    counted_total_[1] += writes;
    while (now_ >= interval_end_ && interval_ + 1 < intervals_.size()) {
      ++interval_;
      interval_end_ += interval_ticks_;
    }
    intervals_[interval_] += reads + writes;
    if (shared_ || now_ < run_end_) return true;
    end_ = now_;
    return false;
  }

  // Operations that returned after the window, or while the lane drains.
  void CompleteLate(bool write) noexcept { total_[write].fetch_add(1, std::memory_order_relaxed); }

  void Fail(const IoError& error) {
    if (!error_) error_ = error;
  }

  uint64_t completed_reads() const { return total_[0].load(std::memory_order_relaxed); }
  uint64_t completed_writes() const { return total_[1].load(std::memory_order_relaxed); }

  // After the lane has ended.
  const std::optional<IoError>& error() const { return error_; }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_ != 0 ? end_ : now_; }
  bool window_opened() const { return open_; }
  uint64_t counted(bool write) const { return counted_total_[write]; }
  const LatencyHistogram* histogram(bool write) const { return histograms_[write].get(); }
  const std::vector<uint64_t>& intervals() const { return intervals_; }  // operations, on the grid from ramp_end

 private:
  const TickClock& clock_;
  std::unique_ptr<LatencyHistogram> histograms_[2];
  std::vector<uint64_t> intervals_;
  uint64_t interval_ticks_ = 0;
  uint64_t ramp_end_ = 0;
  uint64_t run_end_ = 0;
  uint64_t length_ = 0;
  bool shared_ = false;

  // Written in the timed section.
  uint64_t now_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t interval_end_ = 0;
  size_t interval_ = 0;
  uint64_t batch_[2] = {0, 0};
  uint64_t counted_total_[2] = {0, 0};
  bool open_ = false;
  bool counted_ = false;
  std::atomic<uint64_t> total_[2] = {0, 0};
  std::optional<IoError> error_;
};

}  // namespace fleetmark::agent
