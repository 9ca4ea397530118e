#include "agent/worker/control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "common/lifecycle/thread_name.h"

namespace fleetmark::agent {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kOrphanGrace = std::chrono::milliseconds(500);
constexpr int kExitOrphaned = 3;

// The write end of the wake pipe, for the handler of SIGTERM (which the kernel sends when the executor dies).
std::atomic<int> g_wake_fd{-1};

extern "C" void OnTerminate(int) {
  const int saved = errno;
  const int fd = g_wake_fd.load(std::memory_order_relaxed);
  if (fd >= 0) {
    const ssize_t ignored = ::write(fd, "T", 1);
    (void)ignored;
  }
  errno = saved;
}

void SetMask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(how, &set, nullptr);
}

int MillisecondsUntil(SteadyClock::time_point when) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
}

}  // namespace

ControlPipe::~ControlPipe() { StopWatching(); }

absl::StatusOr<v1::WorkerStart> ControlPipe::ReadStart() {
  v1::WorkerControl control;
  while (true) {
    const absl::StatusOr<bool> complete = reader_.Next(control);
    if (!complete.ok()) return complete.status();
    if (*complete) break;
    const absl::StatusOr<bool> more = ReadInto(control_fd_, reader_);
    if (!more.ok()) return more.status();
    if (!*more) return absl::UnavailableError("the executor closed the control pipe before it gave orders");
  }
  if (!control.has_start()) return absl::InvalidArgumentError("the first order is not a start");
  return control.start();
}

void ControlPipe::Watch(absl::Duration deadline, std::function<void()> abandon) {
  abandon_ = std::move(abandon);
  if (::pipe(wake_pipe_) != 0) std::abort();  // two descriptors, in a process that has a handful
  for (const int fd : wake_pipe_) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  g_wake_fd = wake_pipe_[1];
  struct sigaction action = {};
  action.sa_handler = OnTerminate;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  SetMask(SIG_BLOCK);  // the measuring threads are never interrupted; the control thread takes it
  thread_ = std::thread([this, deadline] { RunThread(deadline); });
}

void ControlPipe::StopWatching() {
  if (!thread_.joinable()) return;
  const ssize_t ignored = ::write(wake_pipe_[1], "Q", 1);
  (void)ignored;
  thread_.join();
  g_wake_fd = -1;
  ::close(wake_pipe_[0]);
  ::close(wake_pipe_[1]);
}

void ControlPipe::Stop(StopCause cause) {
  MutexLock lock(mutex_);
  cancellation_.Set(cause);
  changed_.NotifyAll();
}

void ControlPipe::HandleOrders() {
  v1::WorkerControl control;
  while (true) {
    const absl::StatusOr<bool> complete = reader_.Next(control);
    if (!complete.ok()) return Stop(StopCause::kOrphaned);  // not one of ours at the other end
    if (!*complete) return;
    if (control.has_cancel()) Stop(StopCause::kCancelled);
    if (control.has_proceed()) {
      MutexLock lock(mutex_);
      ++proceeds_;
      changed_.NotifyAll();
    }
  }
}

void ControlPipe::RunThread(absl::Duration deadline) {
  SetThreadName("control");
  SetMask(SIG_UNBLOCK);
  HandleOrders();  // what came together with the start
  const auto deadline_at = SteadyClock::now() + absl::ToChronoNanoseconds(std::min(deadline, absl::Hours(24 * 365)));
  auto end_at = SteadyClock::time_point::max();
  bool open = true;
  while (true) {
    if (end_at != SteadyClock::time_point::max() && SteadyClock::now() >= end_at) {
      abandon_();
      ::_exit(kExitOrphaned);
    }
    if (SteadyClock::now() >= deadline_at) Stop(StopCause::kDeadline);
    pollfd fds[2] = {{wake_pipe_[0], POLLIN, 0}, {open ? control_fd_ : -1, POLLIN, 0}};
    int timeout = cancellation_.requested() ? -1 : MillisecondsUntil(deadline_at);
    if (end_at != SteadyClock::time_point::max()) timeout = MillisecondsUntil(end_at);
    if (::poll(fds, 2, timeout) <= 0) continue;
    char wake = 0;
    while (::read(wake_pipe_[0], &wake, 1) == 1) {
      if (wake == 'Q') return;
      Stop(StopCause::kCancelled);
    }
    if (open && (fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const absl::StatusOr<bool> more = ReadInto(control_fd_, reader_);
      if (more.ok() && *more) {
        HandleOrders();
        continue;
      }
      open = false;
      Stop(StopCause::kOrphaned);
      end_at = SteadyClock::now() + kOrphanGrace;
    }
  }
}

absl::Status ControlPipe::Send(const v1::WorkerEvent& event) { return WriteFrame(event_fd_, event); }

bool ControlPipe::WaitForProceed() {
  MutexLock lock(mutex_);
  while (proceeds_ == 0 && !cancellation_.requested()) changed_.Wait(mutex_);
  if (cancellation_.requested()) return false;
  --proceeds_;
  return true;
}

}  // namespace fleetmark::agent
