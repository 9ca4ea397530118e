#include "agent/workloads/memory/stream_team.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "agent/platform/pin_thread.h"
#include "agent/workloads/memory/spin_barrier.h"
#include "common/lifecycle/thread_name.h"
#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kTouchCount = 1u << 19;  // 4 MiB per array between looks at a cancel

// Holds threads back until all of them exist, or sends them home.
class Gate {
 public:
  void Open(bool go) {
    MutexLock lock(mutex_);
    decided_ = true;
    go_ = go;
    changed_.NotifyAll();
  }
  bool Wait() {
    MutexLock lock(mutex_);
    while (!decided_) changed_.Wait(mutex_);
    return go_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool decided_ GUARDED_BY(mutex_) = false;
  bool go_ GUARDED_BY(mutex_) = false;
};

}  // namespace

StreamTeam::StreamTeam(std::vector<int> cpus, std::function<bool()> cancelled)
    : cpus_(std::move(cpus)), cancelled_(std::move(cancelled)) {}

size_t StreamTeam::RoundCount(size_t count) const {
  const size_t unit = cpus_.size() * kStreamSlices * kStreamBlock;
  return std::max<size_t>(1, count / unit) * unit;
}

size_t StreamTeam::PassCount(const StreamArrays& arrays) const { return PartOf(arrays, 0, 0).count * cpus_.size(); }

StreamTeam::Part StreamTeam::PartOf(const StreamArrays& arrays, size_t thread, size_t slice) const {
  // A team of another size than the arrays were rounded for leaves a few elements at the end alone.
  const size_t count = arrays.count() / (cpus_.size() * kStreamSlices * kStreamBlock) * kStreamBlock;
  return {(thread * kStreamSlices + slice) * count, count};
}

absl::Status StreamTeam::OnAllThreads(const std::function<void(size_t)>& work) {
  Gate gate;
  std::vector<std::thread> threads;
  threads.reserve(cpus_.size());
  bool complete = true;
  for (size_t number = 0; number < cpus_.size() && complete; ++number) {
    try {
      threads.emplace_back([this, &gate, &work, number] {
        SetThreadName("fm-stream");
        PinThisThread(cpus_[number]);
        if (gate.Wait()) work(number);
      });
    } catch (const std::system_error&) {
      complete = false;
    }
  }
  gate.Open(complete);
  for (std::thread& thread : threads) thread.join();
  if (complete) return absl::OkStatus();
  return absl::ResourceExhaustedError("start " + std::to_string(cpus_.size()) +
                                      " threads: the system refused; raise the limit of processes or set threads");
}

absl::Status StreamTeam::Touch(const StreamArrays& arrays, const std::function<void(double)>& progress) {
  std::atomic<bool> stop{false};
  const auto work = [&](size_t thread) {
    for (size_t slice = 0; slice < kStreamSlices; ++slice) {
      const Part part = PartOf(arrays, thread, slice);
      for (size_t done = 0; done < part.count; done += kTouchCount) {
        if (thread == 0 && cancelled_()) stop.store(true, std::memory_order_relaxed);
        if (stop.load(std::memory_order_relaxed)) return;
        arrays.Reset(part.begin + done, std::min(kTouchCount, part.count - done));
      }
      if (thread == 0) progress(static_cast<double>(slice + 1) / kStreamSlices);
    }
  };
  absl::Status status = OnAllThreads(work);
  if (!status.ok()) return status;
  return stop.load() ? absl::CancelledError("cancelled") : absl::OkStatus();
}

absl::Status StreamTeam::Run(const StreamArrays& arrays, const StreamVariant& variant, unsigned passes,
                             StreamTimes& times) {
  const size_t threads = cpus_.size();
  const size_t steps = (passes + 1) * kStreamKernels;
  std::vector<int64_t> starts(steps * threads, 0);
  std::vector<int64_t> ends(steps * threads, 0);
  std::atomic<size_t> stop_before{steps};  // the first step that is not done any more
  std::atomic<bool> wrong{false};
  SpinBarrier barrier(static_cast<unsigned>(threads));

  const auto work = [&](size_t thread) {
    for (size_t step = 0; step < steps; ++step) {
      if (thread == 0 && cancelled_()) stop_before.store(step, std::memory_order_relaxed);
      const Part part = PartOf(arrays, thread, step % kStreamSlices);
      const StreamFunction kernel = variant.kernels[step % kStreamKernels];
      barrier.Wait();
      // Thread 0 may already ask for a stop before a later step: all still agree on this one.
      if (stop_before.load(std::memory_order_relaxed) <= step) return;
      const int64_t start = SystemClock().MonotonicNs();
      kernel(arrays.a() + part.begin, arrays.b() + part.begin, arrays.c() + part.begin, kStreamQ, part.count);
      const int64_t end = SystemClock().MonotonicNs();
      starts[step * threads + thread] = start;
      ends[step * threads + thread] = end;
    }
    for (size_t slice = 0; slice < kStreamSlices; ++slice) {
      StreamState state;
      for (size_t step = slice; step < steps; step += kStreamSlices) {
        state.Apply(static_cast<StreamKernel>(step % kStreamKernels));
      }
      const Part part = PartOf(arrays, thread, slice);
      if (!arrays.CheckAndReset(part.begin, part.count, state)) wrong.store(true, std::memory_order_relaxed);
    }
  };
  absl::Status status = OnAllThreads(work);
  if (!status.ok()) return status;
  if (stop_before.load() < steps) return absl::CancelledError("cancelled");
  if (wrong.load()) {
    return absl::InternalError(std::string("the arrays hold wrong values after the kernels for ") + variant.isa +
                               ": memory or processor are faulty, or this build is");
  }
  for (size_t step = kStreamKernels; step < steps; ++step) {  // the first pass of each kernel is discarded
    const auto first = starts.begin() + static_cast<std::ptrdiff_t>(step * threads);
    const auto last = ends.begin() + static_cast<std::ptrdiff_t>(step * threads);
    const auto count = static_cast<std::ptrdiff_t>(threads);
    const int64_t elapsed = *std::max_element(last, last + count) - *std::min_element(first, first + count);
    times.seconds[step % kStreamKernels].push_back(static_cast<double>(std::max<int64_t>(1, elapsed)) * 1e-9);
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
