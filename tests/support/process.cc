#include "tests/support/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace fleetmark::test {
namespace {

[[noreturn]] void GiveUp(const std::string& what) {
  std::fprintf(stderr, "tests/support/process: %s: %s\n", what.c_str(), std::strerror(errno));
  std::abort();
}

// What the child needs, prepared before the fork: there only system calls are allowed.
struct Prepared {
  std::vector<char*> arguments, environment;
  int out = -1, err = -1, network = -1;
};

[[noreturn]] void Child(const Launch& launch, const Prepared& prepared, pid_t parent) {
  const auto check = [](bool good, const char* what) {
    if (good) return;
    [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, what, std::strlen(what));
    _exit(126);
  };
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(126);
  dup2(prepared.out, STDOUT_FILENO);
  dup2(prepared.err, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  if (prepared.network >= 0) check(setns(prepared.network, CLONE_NEWNET) == 0, "setns\n");
  if (!launch.host_name.empty()) {
    check(unshare(CLONE_NEWUTS) == 0, "unshare\n");
    check(sethostname(launch.host_name.data(), launch.host_name.size()) == 0, "sethostname\n");
  }
  if (launch.own_locks || !launch.binds.empty()) {
    check(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0, "mount\n");
  }
  if (launch.own_locks) mount("none", "/run/lock", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=1777");
  for (const auto& [place, what] : launch.binds) {
    check(mount(what.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0, "mount --bind\n");
  }
  if (launch.umask.has_value()) umask(*launch.umask);
  check(chdir(launch.directory.empty() ? "/" : launch.directory.c_str()) == 0, "chdir\n");
  execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  check(false, "cannot be executed\n");
  _exit(127);
}

struct Stat {
  pid_t parent = 0;
  char state = 'X';
};

std::optional<Stat> StatOf(pid_t pid) {
  const std::string text = ReadWholeFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  Stat stat;
  if (std::sscanf(text.c_str() + end + 1, " %c %d", &stat.state, &stat.parent) != 2) return std::nullopt;
  return stat;
}

std::map<pid_t, Stat> AllProcesses() {
  std::map<pid_t, Stat> all;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return all;
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const std::optional<Stat> stat = StatOf(pid)) all[pid] = *stat;
  }
  closedir(proc);
  return all;
}

bool IsLive(const Stat& stat) { return stat.state != 'Z' && stat.state != 'X' && stat.state != 'x'; }

void ReadSome(int& fd, std::string& into) {
  char buffer[65536];
  while (fd >= 0) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size > 0) {
      into.append(buffer, static_cast<size_t>(size));
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    close(fd);
    fd = -1;
  }
}

}  // namespace

Process::Process(const Launch& launch) {
  Prepared prepared;
  for (const std::string& argument : launch.arguments)
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  prepared.arguments.push_back(nullptr);
  std::vector<std::string> environment;
  for (const auto& [name, value] : launch.environment) environment.push_back(absl::StrCat(name, "=", value));
  for (const std::string& pair : environment) prepared.environment.push_back(const_cast<char*>(pair.c_str()));
  prepared.environment.push_back(nullptr);
  if (launch.log.empty()) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) GiveUp("pipe");
    out_fd_ = out[0];
    err_fd_ = err[0];
    prepared.out = out[1];
    prepared.err = err[1];
    fcntl(out_fd_, F_SETFL, O_NONBLOCK);
    fcntl(err_fd_, F_SETFL, O_NONBLOCK);
  } else {
    prepared.out = open(launch.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (prepared.out < 0) GiveUp("open " + launch.log);
    prepared.err = fcntl(prepared.out, F_DUPFD_CLOEXEC, 3);
  }
  if (!launch.network.empty()) {
    prepared.network = open(("/run/netns/" + launch.network).c_str(), O_RDONLY | O_CLOEXEC);
    if (prepared.network < 0) GiveUp("open network namespace " + launch.network);
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) Child(launch, prepared, parent);
  if (pid_ < 0) GiveUp("fork");
  close(prepared.out);
  close(prepared.err);
  if (prepared.network >= 0) close(prepared.network);
}

Process::~Process() {
  if (running()) {
    Send(SIGKILL);
    Reap(true);
  }
  if (out_fd_ >= 0) close(out_fd_);
  if (err_fd_ >= 0) close(err_fd_);
}

void Process::Reap(bool block) {
  if (exit_code_.has_value()) return;
  int status = 0;
  pid_t got;
  while ((got = waitpid(pid_, &status, block ? 0 : WNOHANG)) < 0 && errno == EINTR) {
  }
  if (got == pid_) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Process::running() {
  Reap(false);
  return !exit_code_.has_value();
}

void Process::Send(int signal) {
  if (running()) kill(pid_, signal);
}

void Process::Drain() {
  ReadSome(out_fd_, output_);
  ReadSome(err_fd_, errors_);
}

std::optional<int> Process::Wait(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    Reap(false);
    Drain();
    if (exit_code_.has_value()) return exit_code_;
    if (absl::Now() >= deadline) return std::nullopt;
    pollfd fds[2] = {{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}};
    poll(fds, 2, 5);
  }
}

int Process::WaitOrKill(absl::Duration timeout) {
  if (const std::optional<int> code = Wait(timeout)) return *code;
  Send(SIGKILL);
  Reap(true);
  Drain();
  return *exit_code_;
}

const std::string& Process::output() {
  Drain();
  return output_;
}

const std::string& Process::errors() {
  Drain();
  return errors_;
}

void Process::CloseOutput() {
  if (out_fd_ >= 0) close(out_fd_);
  out_fd_ = -1;
}

Finished RunToEnd(const Launch& launch, absl::Duration timeout) {
  Process process(launch);
  Finished finished;
  finished.exit_code = process.WaitOrKill(timeout);
  finished.output = process.output();
  finished.errors = process.errors();
  return finished;
}

bool WaitUntil(const std::function<bool()>& condition, absl::Duration timeout, absl::Duration every) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(every);
  }
  return true;
}

bool Alive(pid_t pid) {
  const std::optional<Stat> stat = StatOf(pid);
  return stat.has_value() && IsLive(*stat);
}

std::string CommandLineOf(pid_t pid) {
  std::string text = ReadWholeFile("/proc/" + std::to_string(pid) + "/cmdline");
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::vector<pid_t> LiveChildren(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& [child, stat] : AllProcesses()) {
    if (stat.parent == pid && IsLive(stat)) children.push_back(child);
  }
  return children;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> LiveDescendants(const std::vector<pid_t>& known) {
  const std::map<pid_t, Stat> all = AllProcesses();
  std::vector<pid_t> found;
  std::vector<pid_t> parents = {getpid()};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const auto& [pid, stat] : all) {
      if (stat.parent != parent || std::count(known.begin(), known.end(), pid) > 0) continue;
      parents.push_back(pid);
      if (IsLive(stat)) found.push_back(pid);
    }
  }
  return found;
}

std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace fleetmark::test
