#include "common/lifecycle/stop_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "common/time/clock.h"

namespace fleetmark {
namespace {

std::atomic<StopSignal*> signal_target{nullptr};

extern "C" void HandleStopSignal(int) {
  const int saved_errno = errno;
  if (StopSignal* stop = signal_target.load(); stop != nullptr) stop->Request();
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  errno = saved_errno;
}

}  // namespace

StopSignal::StopSignal() {
#ifdef __APPLE__
  const int made = pipe(pipe_);
#else
  const int made = pipe2(pipe_, O_CLOEXEC | O_NONBLOCK);
#endif
  if (made != 0) {
    std::perror("fleetmark: cannot make a pipe");
    std::abort();
  }
#ifdef __APPLE__
  for (const int fd : pipe_) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
#endif
}

StopSignal::~StopSignal() {
  if (signal_target.load() == this) signal_target.store(nullptr);
  close(pipe_[0]);
  close(pipe_[1]);
}

void StopSignal::Request() noexcept {
  if (requested_.exchange(true, std::memory_order_acq_rel)) return;
  const char byte = 1;
  while (write(pipe_[1], &byte, 1) < 0 && errno == EINTR) {
  }
}

bool StopSignal::WaitFor(absl::Duration timeout) const {
  const int64_t start_ns = SystemClock().MonotonicNs();
  while (!requested()) {
    const absl::Duration left = timeout - absl::Nanoseconds(SystemClock().MonotonicNs() - start_ns);
    if (left <= absl::ZeroDuration()) break;
    pollfd watched{pipe_[0], POLLIN, 0};
    const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    poll(&watched, 1, milliseconds > 1'000'000 ? 1'000'000 : static_cast<int>(milliseconds));
  }
  return requested();
}

void StopOnSignals(StopSignal& stop) {
  signal_target.store(&stop);
  struct sigaction action {};
  action.sa_handler = HandleStopSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace fleetmark
