#include "agent/executor/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/worker/worker.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr int kFirstFreeFd = 10;  // above the numbers the worker's ends get
constexpr size_t kMostLastWords = 2048;

struct Pipe {
  OwnedFd read;
  OwnedFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
#ifdef __linux__
  const int made = ::pipe2(fds, O_CLOEXEC);
#else
  const int made = ::pipe(fds);
#endif
  if (made != 0) return absl::ResourceExhaustedError(absl::StrCat("make a pipe for the worker: ", strerror(errno)));
  Pipe pipe{OwnedFd(fds[0]), OwnedFd(fds[1])};
  pipe.read = OwnedFd(::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  pipe.write = OwnedFd(::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (!pipe.read.valid() || !pipe.write.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("make a pipe for the worker: ", strerror(errno)));
  }
  return pipe;
}

void MakeNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Nothing of the agent's environment reaches a worker, but for what the loader and the sanitizers need.
std::vector<std::string> WorkerEnvironment() {
  std::vector<std::string> environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Own process group, no blocked and no ignored signals, whatever the agent's threads have.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&value_);
    posix_spawnattr_setflags(&value_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&value_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&value_, &none);
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigdefault(&value_, &all);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value_); }
  const posix_spawnattr_t* get() const { return &value_; }

 private:
  posix_spawnattr_t value_;
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&value_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value_); }
  void Open(int fd, const char* path, int flags) { posix_spawn_file_actions_addopen(&value_, fd, path, flags, 0); }
  void Give(const OwnedFd& from, int to) { posix_spawn_file_actions_adddup2(&value_, from.get(), to); }
  const posix_spawn_file_actions_t* get() const { return &value_; }

 private:
  posix_spawn_file_actions_t value_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Spawn(const std::string& program,
                                                                    const std::string& title) {
  if (program.empty()) return absl::InternalError("start a worker: the agent's own image is not known");
  absl::StatusOr<Pipe> control = MakePipe();
  absl::StatusOr<Pipe> events = control.ok() ? MakePipe() : control.status();
  absl::StatusOr<Pipe> errors = events.ok() ? MakePipe() : events.status();
  if (!errors.ok()) return errors.status();

  SpawnActions actions;
  actions.Open(STDIN_FILENO, "/dev/null", O_RDONLY);
  actions.Open(STDOUT_FILENO, "/dev/null", O_WRONLY);
  actions.Give(errors->write, STDERR_FILENO);
  actions.Give(control->read, kWorkerControlFd);
  actions.Give(events->write, kWorkerEventFd);
  const SpawnAttributes attributes;
  std::vector<std::string> arguments = {"fleetmark-agent", kWorkerArgument, title};
  std::vector<std::string> environment = WorkerEnvironment();
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), Pointers(arguments).data(),
                                Pointers(environment).data());
  if (error != 0) return absl::InternalError(absl::StrCat("start a worker (exec ", program, "): ", strerror(error)));

  std::unique_ptr<WorkerProcess> worker(new WorkerProcess());
  worker->identity_ = IdentityOf(pid);
  worker->control_ = std::move(control->write);
  worker->events_ = std::move(events->read);
  worker->errors_ = std::move(errors->read);
  MakeNonBlocking(worker->events_.get());
  MakeNonBlocking(worker->errors_.get());
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (exit_.has_value() || abandoned_) return;
  Signal(SIGKILL);
  control_.Close();
  WaitForExit(absl::Seconds(1));
}

absl::Status WorkerProcess::Send(const v1::WorkerControl& control) { return WriteFrame(control_.get(), control); }

bool WorkerProcess::ReadEvents() {
  const absl::StatusOr<bool> more = ReadInto(events_.get(), frames_);
  if (!more.ok() && absl::IsUnavailable(more.status())) return true;
  if (more.ok() && *more) return true;
  events_.Close();
  return false;
}

void WorkerProcess::ReadErrors() {
  char buffer[4096];
  const ssize_t count = ::read(errors_.get(), buffer, sizeof buffer);
  if (count > 0) {
    error_text_.append(buffer, static_cast<size_t>(count));
    if (error_text_.size() > kMostLastWords) error_text_.erase(0, error_text_.size() - kMostLastWords);
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    errors_.Close();
  }
}

std::string WorkerProcess::last_words() const {
  std::string text = error_text_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return EscapeForTerminal(CleanUtf8(text));
}

void WorkerProcess::Signal(int signal) {
  if (exit_.has_value()) return;
  ::kill(-identity_.pid, signal);
  ::kill(identity_.pid, signal);  // if it has not come as far as its own group
}

std::optional<WorkerExit> WorkerProcess::WaitForExit(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::Duration pause = absl::Milliseconds(1);
  while (!exit_.has_value()) {
    siginfo_t ended = {};
    const int looked = ::waitid(P_PID, static_cast<id_t>(identity_.pid), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && ended.si_pid == identity_.pid) {
      ::kill(-identity_.pid, SIGKILL);  // what it may have started goes with it, while its id cannot be anybody else's
      int status = 0;
      exit_ = WorkerExit{};
      if (::waitpid(identity_.pid, &status, 0) != identity_.pid) break;
      if (WIFEXITED(status)) exit_->code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) exit_->signal = WTERMSIG(status);
    } else if (looked != 0 && errno != EINTR) {
      exit_ = WorkerExit{};  // somebody else has reaped it
    } else if (absl::Now() >= deadline) {
      return std::nullopt;
    } else {
      ::poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(pause)));
      pause = std::min(pause * 2, absl::Milliseconds(20));
    }
  }
  return exit_;
}

}  // namespace fleetmark::agent
