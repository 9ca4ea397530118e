#include "agent/engine/lane_runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_format.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_engine.h"
#include "agent/engine/tick_clock.h"
#include "common/lifecycle/thread_name.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {
namespace {

constexpr std::chrono::milliseconds kPoll{50};
constexpr int64_t kReportNs = 200'000'000;
constexpr double kClockTolerance = 0.005;

// The meeting point of lanes and caller: set up, start together, finish.
class Start {
 public:
  explicit Start(size_t lanes) : lanes_(lanes) {}

  // Lane: set up, with what result. Blocks until the start; false: the job is off.
  bool ArriveAndWait(const absl::Status& status) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!status.ok() && status_.ok()) status_ = status;
    ++arrived_;
    changed_.NotifyAll();
    while (!decided_) changed_.Wait(mutex_);
    return go_;
  }

  void Finish() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++finished_;
    changed_.NotifyAll();
  }

  // Caller. `lanes`: that were really started.
  absl::Status WaitForArrivals(size_t lanes) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    lanes_ = lanes;
    while (arrived_ < lanes_) changed_.Wait(mutex_);
    return status_;
  }

  void Decide(bool go) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    decided_ = true;
    go_ = go;
    changed_.NotifyAll();
  }

  // True when all lanes have finished.
  bool WaitForFinish(std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (finished_ < lanes_) changed_.WaitFor(mutex_, timeout);
    return finished_ >= lanes_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t lanes_ GUARDED_BY(mutex_);
  size_t arrived_ GUARDED_BY(mutex_) = 0;
  size_t finished_ GUARDED_BY(mutex_) = 0;
  bool decided_ GUARDED_BY(mutex_) = false;
  bool go_ GUARDED_BY(mutex_) = false;
  absl::Status status_ GUARDED_BY(mutex_);
};

struct Totals {
  uint64_t reads = 0;
  uint64_t writes = 0;
};

using Recorders = std::vector<std::unique_ptr<LaneRecorder>>;

Totals Completed(const Recorders& recorders) {
  Totals totals;
  for (const auto& recorder : recorders) {
    totals.reads += recorder->completed_reads();
    totals.writes += recorder->completed_writes();
  }
  return totals;
}

// Watches the lanes until all have finished. Returns false if the job was cancelled.
class Watch {
 public:
  Watch(const IoJob& job, const JobHooks& hooks, const Recorders& recorders, int64_t start_ns, int64_t ramp_end_ns)
      : job_(job), hooks_(hooks), recorders_(recorders), start_ns_(start_ns), ramp_end_ns_(ramp_end_ns) {
    last_report_ns_ = start_ns;
  }

  bool Run(Start& start, std::atomic<bool>& stop) {
    MaybeOpen(start_ns_);
    bool cancelled = false;
    for (;;) {
      const int64_t now = TickClock::MonotonicNs();
      std::chrono::nanoseconds wait = kPoll;
      if (!opened_) wait = std::min(wait, std::chrono::nanoseconds(std::max<int64_t>(ramp_end_ns_ - now, 1)));
      const bool finished = start.WaitForFinish(wait);
      // A caller that slept too long opens the window when all is over: nothing is compared then.
      MaybeOpen(finished ? ramp_end_ns_ : TickClock::MonotonicNs());
      if (finished) return !cancelled;
      if (!cancelled && hooks_.cancelled && hooks_.cancelled()) {
        cancelled = true;
        stop.store(true, std::memory_order_relaxed);
      }
      MaybeReport();
    }
  }

  Totals at_opening() const { return at_opening_; }

 private:
  void MaybeOpen(int64_t now) {
    if (opened_ || now < ramp_end_ns_) return;
    opened_ = true;
    at_opening_ = Completed(recorders_);
    if (hooks_.window_opens) hooks_.window_opens();
  }

  void MaybeReport() {
    const int64_t now = TickClock::MonotonicNs();
    if (!hooks_.progress || now - last_report_ns_ < kReportNs) return;
    const Totals totals = Completed(recorders_);
    const uint64_t operations = totals.reads + totals.writes;
    IoProgress progress;
    progress.elapsed_seconds = static_cast<double>(now - start_ns_) / 1e9;
    progress.rate_bytes_per_second = static_cast<double>((operations - last_operations_) * job_.block_bytes) /
                                     (static_cast<double>(now - last_report_ns_) / 1e9);
    last_report_ns_ = now;
    last_operations_ = operations;
    hooks_.progress(progress);
  }

  const IoJob& job_;
  const JobHooks& hooks_;
  const Recorders& recorders_;
  const int64_t start_ns_;
  const int64_t ramp_end_ns_;
  int64_t last_report_ns_ = 0;
  uint64_t last_operations_ = 0;
  bool opened_ = false;
  Totals at_opening_;
};

void AddSeries(const IoJob& job, const Recorders& recorders, uint64_t ramp_end, JobResult& result) {
  const TickClock& clock = TickClock::Get();
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  for (const auto& recorder : recorders) {
    if (!recorder->window_opened()) continue;
    begin = std::min(begin, recorder->begin());
    end = std::max(end, recorder->end());
  }
  if (begin >= end) return;
  const int64_t begin_ns = clock.ToNs(ramp_end, begin);
  const int64_t end_ns = clock.ToNs(ramp_end, end);
  const size_t capacity = recorders.front()->intervals().size();
  for (size_t i = 0; i < capacity; ++i) {
    const bool last = i + 1 == capacity;
    const int64_t from = std::max(static_cast<int64_t>(i) * LaneRecorder::kIntervalNs, begin_ns);
    const int64_t to = last ? end_ns : std::min(static_cast<int64_t>(i + 1) * LaneRecorder::kIntervalNs, end_ns);
    uint64_t operations = 0;
    for (const auto& recorder : recorders) operations += recorder->intervals()[i];
    // An operation that completed in the very tick where an interval ends may fall behind the end of the window.
    if (to <= from) {
      if (operations > 0 && !result.series.empty()) result.series.back().bytes += operations * job.block_bytes;
      if (from >= end_ns) break;
      continue;
    }
    result.series.push_back({from - begin_ns, to - from, operations * job.block_bytes});
  }
}

void AddUp(const IoJob& job, const Recorders& recorders, JobResult& result) {
  const TickClock& clock = TickClock::Get();
  if (job.reads()) result.read_latency = std::make_shared<LatencyHistogram>();
  if (job.writes()) result.write_latency = std::make_shared<LatencyHistogram>();
  for (const auto& recorder : recorders) {
    if (recorder->histogram(false) != nullptr) result.read_latency->Merge(*recorder->histogram(false));
    if (recorder->histogram(true) != nullptr) result.write_latency->Merge(*recorder->histogram(true));
    result.reads += recorder->counted(false);
    result.writes += recorder->counted(true);
    if (recorder->error() && !result.error) result.error = recorder->error();
  }
  // One lane has its own window, several share theirs.
  const LaneRecorder& lane = *recorders.front();
  if (lane.window_opened()) {
    result.elapsed_seconds = static_cast<double>(clock.ToNs(lane.begin(), std::max(lane.begin(), lane.end()))) / 1e9;
  }
  result.read_bytes = result.reads * job.block_bytes;
  result.written_bytes = result.writes * job.block_bytes;
}

absl::Status ErrorOf(const IoError& error) {
  return IoErrorStatus(error.error, absl::StrFormat("%s %d bytes at offset %d", error.write ? "write" : "read",
                                                    error.bytes, error.offset));
}

}  // namespace

absl::Status CheckJob(const IoJob& job) {
  if (job.fd < 0 || job.block_bytes == 0 || job.depth == 0 || job.threads == 0 || job.run_seconds <= 0 ||
      job.ramp_seconds < 0 || job.read_fraction < 0 || job.read_fraction > 1) {
    return absl::InvalidArgumentError("an I/O job needs a file, a block size, a depth, threads and a length");
  }
  if (job.file_bytes < job.block_bytes || job.file_bytes % job.block_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a file of %d bytes cannot be used in blocks of %d", job.file_bytes, job.block_bytes));
  }
  if (job.writes()) {
    const uint64_t needed = uint64_t{job.block_bytes} * job.depth * job.threads;
    if (job.pool == nullptr || job.pool->size() < needed) {
      return absl::InvalidArgumentError(absl::StrFormat("writing needs a data pool of %d bytes", needed));
    }
  }
  return absl::OkStatus();
}

absl::Status RunLanes(const IoJob& job, const JobHooks& hooks, std::vector<std::unique_ptr<Lane>> lanes,
                      JobResult& result) {
  const TickClock& clock = TickClock::Get();
  Recorders recorders;
  for (size_t i = 0; i < lanes.size(); ++i) recorders.push_back(std::make_unique<LaneRecorder>(job));

  Start start(lanes.size());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  absl::Status spawned;
  for (size_t i = 0; i < lanes.size() && spawned.ok(); ++i) {
    try {
      threads.emplace_back([&start, &stop, lane = lanes[i].get(), recorder = recorders[i].get(), i] {
        SetThreadName(absl::StrFormat("fm-io-%d", i));
        if (start.ArriveAndWait(lane->SetUp())) {
          lane->Loop(*recorder, stop);
          if (recorder->error()) stop.store(true, std::memory_order_relaxed);
        }
        start.Finish();
      });
    } catch (const std::system_error& error) {
      spawned = absl::UnavailableError(absl::StrFormat("start I/O thread %d of %d: %s; raise the limit of processes",
                                                       i + 1, lanes.size(), error.what()));
    }
  }
  absl::Status ready = start.WaitForArrivals(threads.size());
  if (!spawned.ok()) ready = spawned;

  bool completed = false;
  if (ready.ok()) {
    const uint64_t begin = clock.Now();
    const int64_t begin_ns = TickClock::MonotonicNs();
    const int64_t ramp_ns = std::llround(job.ramp_seconds * 1e9);
    const int64_t run_ns = std::llround(job.run_seconds * 1e9);
    const uint64_t ramp_end = begin + clock.FromNs(ramp_ns);
    const bool shared = recorders.size() > 1;
    for (const auto& recorder : recorders) recorder->SetWindow(begin, ramp_end, clock.FromNs(run_ns), shared);
    Watch watch(job, hooks, recorders, begin_ns, begin_ns + ramp_ns);
    start.Decide(true);
    completed = watch.Run(start, stop);
    if (hooks.window_closed) hooks.window_closed();

    const Totals totals = Completed(recorders);
    result.total_written_bytes = totals.writes * job.block_bytes;
    result.hooked_read_bytes = (totals.reads - watch.at_opening().reads) * job.block_bytes;
    result.hooked_written_bytes = (totals.writes - watch.at_opening().writes) * job.block_bytes;
    result.in_flight_at_hook_bytes = uint64_t{job.depth} * job.threads * job.block_bytes;
    const double by_ticks = static_cast<double>(clock.ToNs(begin, clock.Now()));
    const double by_kernel = static_cast<double>(TickClock::MonotonicNs() - begin_ns);
    result.clock_suspect = std::fabs(by_ticks - by_kernel) > kClockTolerance * by_kernel + 1e6;
    AddUp(job, recorders, result);
    AddSeries(job, recorders, ramp_end, result);
    result.details = lanes.front()->Details();
  } else {
    start.Decide(false);
  }
  for (std::thread& thread : threads) thread.join();
  if (!ready.ok()) return ready;
  if (result.error) return ErrorOf(*result.error);
  if (!completed) return absl::CancelledError("the job was cancelled");
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
