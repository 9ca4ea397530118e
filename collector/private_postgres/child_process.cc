#include "collector/private_postgres/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetmark::collector {
namespace {

absl::Status ErrnoStatus(const std::string& what, int error) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(error)));
}

// What the child tells its parent if it cannot exec. A child between fork and exec may only make system calls.
struct ChildError {
  char step[16];
  int error;
};

[[noreturn]] void Fail(int fd, const char* step) {
  ChildError message = {};
  for (size_t i = 0; i + 1 < sizeof message.step && step[i] != '\0'; ++i) message.step[i] = step[i];
  message.error = errno;
  [[maybe_unused]] const ssize_t ignored = write(fd, &message, sizeof message);
  _exit(127);
}

struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> environment;
  int report_fd = -1;
  int input_fd = -1;
  int output_fd = -1;
  pid_t parent = 0;
};

[[noreturn]] void RunChild(const ChildOptions& options, const Prepared& prepared) {
  const int report = prepared.report_fd;
  if (setsid() < 0) Fail(report, "setsid");
  if (options.account.has_value()) {
    if (setgroups(0, nullptr) != 0) Fail(report, "setgroups");
    if (setgid(options.account->gid) != 0) Fail(report, "setgid");
    if (setuid(options.account->uid) != 0) Fail(report, "setuid");
  }
#ifdef __linux__
  // After setuid, which clears it.
  if (options.signal_when_parent_dies != 0) {
    if (prctl(PR_SET_PDEATHSIG, options.signal_when_parent_dies) != 0) Fail(report, "prctl");
    if (getppid() != prepared.parent) _exit(127);
  }
#endif
  umask(077);
  if (chdir(options.working_directory.c_str()) != 0) Fail(report, "chdir");
  if (dup2(prepared.input_fd, 0) < 0 || dup2(prepared.output_fd, 1) < 0 || dup2(prepared.output_fd, 2) < 0) {
    Fail(report, "dup2");
  }
#if defined(__linux__) && defined(SYS_close_range)
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
#endif
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < 32; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  Fail(report, "exec");
}

void CloseIf(int fd) {
  if (fd >= 0) close(fd);
}

// Pipe with both ends O_CLOEXEC, above the standard descriptors.
absl::Status MakePipe(std::array<int, 2>& ends) {
#ifdef __linux__
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus("pipe2", errno);
#else
  if (pipe(ends.data()) != 0) return ErrnoStatus("pipe", errno);
  for (const int fd : ends) fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<pid_t> StartChild(const ChildOptions& options) {
  Prepared prepared;
  std::vector<std::string> arguments = options.arguments;
  for (std::string& argument : arguments) prepared.argv.push_back(argument.data());
  prepared.argv.push_back(nullptr);
  // Nothing of the caller's environment: PGDATA, PGPORT, LC_ALL and the like would change what the programs do.
  std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
  for (std::string& entry : environment) prepared.environment.push_back(entry.data());
  prepared.environment.push_back(nullptr);
  prepared.parent = getpid();

  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0) return ErrnoStatus("open /dev/null", errno);
  prepared.input_fd = null_fd;
  prepared.output_fd = options.output_fd >= 0 ? options.output_fd : null_fd;
  std::array<int, 2> report = {-1, -1};
  if (absl::Status status = MakePipe(report); !status.ok()) {
    close(null_fd);
    return status;
  }
  prepared.report_fd = report[1];

  const pid_t pid = fork();
  if (pid == 0) RunChild(options, prepared);
  const int fork_error = errno;
  close(null_fd);
  close(report[1]);
  if (pid < 0) {
    close(report[0]);
    return ErrnoStatus(absl::StrCat("start ", options.arguments[0], ": fork"), fork_error);
  }
  ChildError message = {};
  ssize_t got;
  do {
    got = read(report[0], &message, sizeof message);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == static_cast<ssize_t>(sizeof message)) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return ErrnoStatus(absl::StrCat("start ", options.arguments[0], ": ", message.step), message.error);
  }
  return pid;
}

std::string DescribeExit(int wait_status) {
  if (WIFEXITED(wait_status)) return absl::StrCat("exited with code ", WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) return absl::StrCat("was killed by signal ", WTERMSIG(wait_status));
  return absl::StrCat("ended with status ", wait_status);
}

std::optional<int> WaitForChild(pid_t pid, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::Duration pause = absl::Milliseconds(2);
  while (true) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return 0;  // somebody else has waited for it: it is gone
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return std::nullopt;
    absl::SleepFor(std::min(left, pause));
    pause = std::min(pause * 2, absl::Milliseconds(50));
  }
}

absl::StatusOr<std::string> CaptureOutput(const std::vector<std::string>& arguments) {
  std::array<int, 2> output = {-1, -1};
  if (absl::Status status = MakePipe(output); !status.ok()) return status;
  ChildOptions options;
  options.arguments = arguments;
  options.output_fd = output[1];
  const absl::StatusOr<pid_t> pid = StartChild(options);
  CloseIf(output[1]);
  if (!pid.ok()) {
    CloseIf(output[0]);
    return pid.status();
  }
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = read(output[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  CloseIf(output[0]);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return absl::InternalError(absl::StrCat("run ", arguments[0], ": it ", DescribeExit(status)));
  return text;
}

}  // namespace fleetmark::collector
