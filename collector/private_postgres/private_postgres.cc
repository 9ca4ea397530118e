#include "collector/private_postgres/private_postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "collector/private_postgres/child_process.h"
#include "collector/private_postgres/data_directory.h"
#include "collector/private_postgres/pid_file.h"
#include "collector/private_postgres/socket_directory.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr char kArea[] = "postgres";
constexpr off_t kLogLimitBytes = 4 << 20;
constexpr int kStillRuns = -1;

// The log, opened by us: the server's account need not be able to write in the state directory.
absl::StatusOr<int> OpenLog(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && info.st_size > kLogLimitBytes) rename(path.c_str(), (path + ".1").c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::PermissionDeniedError(absl::StrCat("open ", path, ": ", std::strerror(errno)));
  }
  return fd;
}

// The last lines that the server wrote, for an error message.
std::string LogTail(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (lines.size() == 3) lines.erase(lines.begin());
    lines.push_back(EscapeForTerminal(line));
  }
  return absl::StrJoin(lines, " | ");
}

// A value in a libpq connection string.
std::string Quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivatePostgres>> PrivatePostgres::Start(const PrivatePostgresOptions& options) {
  if (options.state_directory.empty() || options.state_directory[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("start the private PostgreSQL: the state directory '",
                                                   options.state_directory, "' is not an absolute path"));
  }
  std::unique_ptr<PrivatePostgres> server(new PrivatePostgres(options));
  server->thread_ = std::thread([raw = server.get()] { raw->Supervise(); });
  {
    MutexLock lock(server->mutex_);
    while (!server->started_) server->changed_.Wait(server->mutex_);
    if (server->start_status_.ok()) return server;
  }
  server->thread_.join();
  MutexLock lock(server->mutex_);
  return server->start_status_;
}

PrivatePostgres::~PrivatePostgres() {
  if (thread_.joinable()) {
    if (absl::Status status = Shutdown(absl::Seconds(10)); !status.ok())
      LogWarning(kArea, std::string(status.message()));
  }
}

absl::Status PrivatePostgres::Shutdown(absl::Duration deadline) {
  {
    MutexLock lock(mutex_);
    stop_deadline_ = std::min(stop_deadline_, absl::Now() + deadline);
  }
  stop_.Request();
  {
    MutexLock lock(mutex_);
    while (!ended_) changed_.Wait(mutex_);
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  return stop_status_;
}

pid_t PrivatePostgres::postmaster_pid() const {
  MutexLock lock(mutex_);
  return pid_;
}

unsigned PrivatePostgres::restarts() const {
  MutexLock lock(mutex_);
  return restarts_;
}

void PrivatePostgres::SetPid(pid_t pid) {
  MutexLock lock(mutex_);
  pid_ = pid;
}

absl::Status PrivatePostgres::Prepare() {
  data_directory_ = options_.state_directory + "/postgres";
  log_path_ = options_.state_directory + "/postgres.log";

  absl::StatusOr<std::optional<Account>> account = ServerAccount();
  if (!account.ok()) return account.status();
  account_ = *account;
  if (account_.has_value()) {
    if (absl::Status status = CheckReachable(*account_, options_.state_directory); !status.ok()) return status;
  }
  const absl::StatusOr<std::optional<int>> major = DataMajorVersion(data_directory_);
  if (!major.ok()) return major.status();
  absl::StatusOr<PostgresBinaries> binaries = FindPostgresBinaries(*major);
  if (!binaries.ok()) {
    return absl::Status(binaries.status().code(), absl::StrCat("start the private PostgreSQL in ", data_directory_,
                                                               ": ", std::string(binaries.status().message())));
  }
  binaries_ = *binaries;

  const absl::StatusOr<bool> orphan = StopOrphan(data_directory_, absl::Seconds(10));
  if (!orphan.ok()) return orphan.status();
  const absl::StatusOr<int> log = OpenLog(log_path_);
  if (!log.ok()) return log.status();
  const absl::Status made = EnsureDataDirectory(data_directory_, binaries_, account_, *log);
  close(*log);
  if (!made.ok()) {
    return absl::Status(made.code(),
                        absl::StrCat(std::string(made.message()), " (", log_path_, ": ", LogTail(log_path_), ")"));
  }
  absl::StatusOr<std::string> socket_directory = EnsureSocketDirectory(options_.state_directory, account_);
  if (!socket_directory.ok()) return socket_directory.status();
  socket_directory_ = *socket_directory;
  dsn_ = absl::StrCat("host=", Quoted(socket_directory_), " port=5432 user=fleetmark dbname=postgres");
  return absl::OkStatus();
}

absl::StatusOr<pid_t> PrivatePostgres::Launch() {
  const absl::StatusOr<int> log = OpenLog(log_path_);
  if (!log.ok()) return log.status();
  ChildOptions options;
  options.arguments = {binaries_.directory + "/postgres", "-D", data_directory_};
  const std::string socket_list = absl::StrCat("\"", absl::StrReplaceAll(socket_directory_, {{"\"", "\"\""}}), "\"");
  for (const std::string& setting :
       {std::string("listen_addresses="), absl::StrCat("unix_socket_directories=", socket_list),
        std::string("unix_socket_permissions=0700"), std::string("port=5432"),
        absl::StrCat("max_connections=", options_.max_connections), std::string("fsync=on"),
        std::string("logging_collector=off"), std::string("log_destination=stderr"), std::string("log_checkpoints=off"),
        std::string("log_line_prefix=%m [%p] "), std::string("log_timezone=UTC"), std::string("timezone=UTC"),
        // Our statements are short and many: compiling and spreading them costs more than it saves, and the server may
        // share the machine with a measurement.
        std::string("jit=off"), std::string("max_parallel_workers_per_gather=0"), std::string("max_wal_size=256MB"),
        std::string("cluster_name=fleetmark")}) {
    options.arguments.push_back("-c");
    options.arguments.push_back(setting);
  }
  for (const std::string& setting : options_.settings) {
    options.arguments.push_back("-c");
    options.arguments.push_back(setting);
  }
  options.account = account_;
  options.output_fd = *log;
  options.signal_when_parent_dies = SIGINT;  // fast shutdown
  absl::StatusOr<pid_t> pid = StartChild(options);
  close(*log);
  return pid;
}

absl::Status PrivatePostgres::AwaitReady(pid_t pid, absl::Time deadline) {
  while (true) {
    const std::optional<int> exit_status = WaitForChild(pid, absl::ZeroDuration());
    if (exit_status.has_value()) {
      SetPid(0);
      return absl::UnavailableError(absl::StrCat("the private PostgreSQL in ", data_directory_, " ",
                                                 DescribeExit(*exit_status), " while it started; ", log_path_, ": ",
                                                 LogTail(log_path_)));
    }
    const std::optional<PostmasterPid> file = ReadPostmasterPid(data_directory_);
    if (file.has_value() && file->pid == pid && file->ready) return absl::OkStatus();
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("the private PostgreSQL in ", data_directory_,
                                                      " is not ready in time; ", log_path_, ": ", LogTail(log_path_)));
    }
    if (stop_.WaitFor(absl::Milliseconds(10))) return absl::CancelledError("stopped while PostgreSQL started");
  }
}

absl::Status PrivatePostgres::StartServer() {
  const absl::Time deadline = absl::Now() + options_.start_deadline;
  // After a kill -9 the remaining children of the old postmaster hold its shared memory for a moment.
  constexpr int kTries = 6;
  absl::Duration pause = absl::Milliseconds(100);
  for (int i = 1;; ++i) {
    absl::StatusOr<pid_t> pid = Launch();
    if (!pid.ok()) return pid.status();
    SetPid(*pid);
    absl::Status status = AwaitReady(*pid, deadline);
    if (status.ok()) return status;
    if (postmaster_pid() != 0) StopServer(*pid);
    if (status.code() != absl::StatusCode::kUnavailable || i == kTries || absl::Now() >= deadline) return status;
    if (stop_.WaitFor(pause)) return absl::CancelledError("stopped while PostgreSQL started");
    pause *= 2;
  }
}

// The wait status when the server has ended, or kStillRuns when we are asked to stop.
int PrivatePostgres::AwaitExitOrStop(pid_t pid) {
  int pidfd = -1;
#if defined(__linux__) && defined(SYS_pidfd_open)
  pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#endif
  int result = kStillRuns;
  while (!stop_.requested()) {
    const std::optional<int> status = WaitForChild(pid, absl::ZeroDuration());
    if (status.has_value()) {
      result = *status;
      break;
    }
    pollfd watched[2] = {{stop_.fd(), POLLIN, 0}, {pidfd, POLLIN, 0}};
    poll(watched, pidfd >= 0 ? 2 : 1, pidfd >= 0 ? -1 : 250);
  }
  if (pidfd >= 0) close(pidfd);
  return result;
}

void PrivatePostgres::StopServer(pid_t pid) {
  absl::Time deadline;
  {
    MutexLock lock(mutex_);
    deadline = std::min(stop_deadline_, absl::Now() + absl::Seconds(30));
  }
  const char* harder[] = {"", "at once (SIGQUIT)", "by SIGKILL"};
  const int signals[] = {SIGINT, SIGQUIT, SIGKILL};
  for (int i = 0; i < 3; ++i) {
    kill(pid, signals[i]);
    const absl::Duration patience = i == 0 ? std::max(deadline - absl::Now(), absl::ZeroDuration()) : absl::Seconds(3);
    if (!WaitForChild(pid, patience).has_value()) continue;
    MutexLock lock(mutex_);
    pid_ = 0;
    if (i > 0) {
      stop_status_ = absl::DeadlineExceededError(absl::StrCat(
          "the private PostgreSQL did not stop in time and was ended ", harder[i], "; it recovers at the next start"));
    }
    return;
  }
}

void PrivatePostgres::Supervise() {
  SetThreadName("fm-postgres");
  absl::Status status = Prepare();
  if (status.ok()) status = StartServer();
  {
    MutexLock lock(mutex_);
    started_ = true;
    start_status_ = status;
    if (!status.ok()) ended_ = true;
    changed_.NotifyAll();
  }
  if (!status.ok()) return;

  absl::Duration pause = absl::ZeroDuration();
  absl::Time ready_at = absl::Now();
  while (!stop_.requested()) {
    const pid_t pid = postmaster_pid();
    const int exit_status = AwaitExitOrStop(pid);
    if (exit_status == kStillRuns) break;
    SetPid(0);
    if (absl::Now() - ready_at > absl::Minutes(1)) pause = absl::ZeroDuration();
    LogError(kArea,
             absl::StrCat("the private PostgreSQL (pid ", pid, ") ", DescribeExit(exit_status), "; starting it again"));
    while (!stop_.WaitFor(pause)) {
      pause = std::clamp(pause * 2, absl::Milliseconds(100), absl::Seconds(15));
      status = StartServer();
      if (status.ok()) break;
      if (!stop_.requested()) LogError(kArea, std::string(status.message()));
    }
    if (!stop_.requested()) {
      ready_at = absl::Now();
      LogInfo(kArea, absl::StrCat("the private PostgreSQL runs again (pid ", postmaster_pid(), ")"));
      MutexLock lock(mutex_);
      ++restarts_;
    }
  }
  if (const pid_t pid = postmaster_pid(); pid != 0) StopServer(pid);
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

}  // namespace fleetmark::collector
