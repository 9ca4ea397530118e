#include "agent/workloads/disk/watched.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/lifecycle/thread_name.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {
namespace {

constexpr std::chrono::milliseconds kPoll{50};
constexpr int kPollsPerReport = 5;

class Done {
 public:
  void Set() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    done_ = true;
    changed_.NotifyAll();
  }
  bool WaitFor(std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!done_) changed_.WaitFor(mutex_, timeout);
    return done_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool done_ GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::Status RunWatched(WorkContext& context, const Step& step, const std::function<absl::Status(Watched&)>& body) {
  if (context.cancelled()) return absl::CancelledError("cancelled");
  context.Report(step.name, step.from, std::numeric_limits<double>::quiet_NaN(), v1::UNIT_BYTES_PER_SECOND);
  Watched watched;
  Done done;
  absl::Status status;
  std::thread thread;
  try {
    thread = std::thread([&] {
      SetThreadName("fm-disk");
      status = body(watched);
      done.Set();
    });
  } catch (const std::system_error& error) {
    return absl::UnavailableError(absl::StrCat("start a thread for ", step.name, ": ", error.what()));
  }
  bool cancelled = false;
  uint64_t last_bytes = 0;
  absl::Time last_report = absl::Now();
  for (int poll = 1; !done.WaitFor(kPoll); ++poll) {
    if (!cancelled && context.cancelled()) {
      cancelled = true;
      watched.stop.store(true, std::memory_order_relaxed);
    }
    if (poll % kPollsPerReport != 0) continue;
    const uint64_t bytes = watched.bytes.load(std::memory_order_relaxed);
    const absl::Time now = absl::Now();
    const double seconds = absl::ToDoubleSeconds(now - last_report);
    const double share = step.total_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(step.total_bytes) : 0;
    const double rate = seconds > 0 ? static_cast<double>(bytes - last_bytes) / seconds : 0;
    context.Report(step.name, step.from + (step.to - step.from) * std::min(share, 1.0), rate,
                   v1::UNIT_BYTES_PER_SECOND);
    last_bytes = bytes;
    last_report = now;
  }
  thread.join();
  if (cancelled && (status.ok() || absl::IsCancelled(status))) return absl::CancelledError("cancelled");
  return status;
}

}  // namespace fleetmark::agent
