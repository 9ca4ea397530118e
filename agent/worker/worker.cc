#include "agent/worker/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <clocale>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/worker/control.h"
#include "agent/worker/manifest.h"
#include "agent/worker/process_identity.h"
#include "agent/worker/scratch.h"
#include "common/parameters/parameters.h"
#include "common/text/text.h"
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace fleetmark::agent {
namespace {

constexpr int kExitBadOrders = 2;
constexpr int kExitPipeLost = 3;

// Descriptors the executor did not mean to give are closed; its own two are not passed on.
void CloseStrayDescriptors(int first) {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) directory = ::opendir("/dev/fd");
  if (directory == nullptr) return;
  std::vector<int> stray;
  while (const dirent* entry = ::readdir(directory)) {
    int fd = -1;
    std::from_chars(entry->d_name, entry->d_name + strlen(entry->d_name), fd);
    if (fd >= first && fd != ::dirfd(directory)) stray.push_back(fd);
  }
  ::closedir(directory);
  for (const int fd : stray) ::close(fd);
}

// If memory runs out, it is this process that has to go (C-099).
void OfferToOomKiller() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t ignored = ::write(fd, "1000", 4);
  (void)ignored;
  ::close(fd);
}

void SetUpProcess(int control_fd, int event_fd) {
  ::setpgid(0, 0);  // the executor has done it too, where it could
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C goes to the executor, which tells us
  ::signal(SIGHUP, SIG_IGN);
  std::setlocale(LC_ALL, "C");
  ::fcntl(control_fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(event_fd, F_SETFD, FD_CLOEXEC);
  CloseStrayDescriptors(std::max(control_fd, event_fd) + 1);
  OfferToOomKiller();
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

// Only once SIGTERM is handled: it cancels, so that scratch is removed. The control pipe's end does the same.
void FollowExecutor() {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

// The scratch directory with its manifest, from before it is made until after it is removed.
class Scratch {
 public:
  static absl::StatusOr<Scratch> Make(const v1::WorkerStart& start) {
    absl::StatusOr<OwnedFd> target = OpenDirectoryWithoutLinks(start.target_path());
    if (!target.ok()) return target.status();
    const std::optional<FileIdentity> target_identity = IdentityOfFd(target->get());
    if (!target_identity.has_value()) return absl::UnavailableError(absl::StrCat("stat ", start.target_path()));
    const ProcessIdentity self = IdentityOf(::getpid());
    v1::ScratchManifest manifest;
    manifest.set_target_path(start.target_path());
    manifest.set_target_device(target_identity->device);
    manifest.set_target_inode(target_identity->inode);
    manifest.set_directory_name(start.scratch_directory_name());
    manifest.set_pid(self.pid);
    manifest.set_process_start_ticks(self.start_ticks);
    manifest.set_boot_id(self.boot_id);
    manifest.set_created_unix_seconds(absl::ToDoubleSeconds(SystemClock().Now() - absl::UnixEpoch()));
    const absl::Status noted = WriteManifest(start.manifest_path(), manifest);
    if (!noted.ok()) return noted;
    const absl::StatusOr<FileIdentity> made = MakeDirectoryAt(target->get(), start.scratch_directory_name());
    if (!made.ok()) {
      RemoveManifest(start.manifest_path()).IgnoreError();
      return absl::Status(made.status().code(),
                          absl::StrCat("below ", start.target_path(), ": ", std::string(made.status().message())));
    }
    Scratch scratch(*std::move(target), start, *made);
    manifest.set_directory_device(made->device);
    manifest.set_directory_inode(made->inode);
    const absl::Status completed = WriteManifest(start.manifest_path(), manifest);
    if (!completed.ok()) {
      scratch.Remove().IgnoreError();
      return completed;
    }
    return scratch;
  }

  std::string path() const { return path_; }

  // May be called from two threads: the file system sorts it out.
  absl::Status Remove() const {
    const absl::StatusOr<uint64_t> removed = RemoveDirectoryAt(target_.get(), name_, identity_);
    if (!removed.ok()) return removed.status();
    return RemoveManifest(manifest_path_);
  }

 private:
  Scratch(OwnedFd target, const v1::WorkerStart& start, FileIdentity identity)
      : target_(std::move(target)),
        name_(start.scratch_directory_name()),
        path_(absl::StrCat(start.target_path() == "/" ? "" : start.target_path(), "/", name_)),
        manifest_path_(start.manifest_path()),
        identity_(identity) {}

  OwnedFd target_;
  std::string name_;
  std::string path_;
  std::string manifest_path_;
  FileIdentity identity_;
};

v1::TaskFinished Failed(const absl::Status& status) {
  v1::TaskFinished finished;
  finished.set_outcome(IsSkipped(status) ? v1::TASK_OUTCOME_SKIPPED : v1::TASK_OUTCOME_FAILED);
  finished.set_reason(CleanUtf8(std::string(status.message())));
  return finished;
}

// Whatever the executor checked is checked again: it is this process that acts.
absl::StatusOr<const WorkloadEntry*> CheckOrders(v1::WorkerStart& start, const std::vector<WorkloadEntry>& table) {
  const absl::StatusOr<const WorkloadEntry*> entry = FindWorkload(table, start.workload(), start.version());
  if (!entry.ok()) return entry.status();
  const ParameterMap given(start.parameters().begin(), start.parameters().end());
  const absl::StatusOr<ParameterMap> parameters = fleetmark::ResolveParameters((*entry)->descriptor, given);
  if (!parameters.ok()) return parameters.status();
  start.mutable_parameters()->clear();
  for (const auto& [name, value] : *parameters) (*start.mutable_parameters())[name] = value;
  const absl::StatusOr<v1::RepetitionRule> rule =
      MergeRepetitionRules((*entry)->descriptor.repetition_rule(), start.repetition_rule());
  if (!rule.ok()) return rule.status();
  *start.mutable_repetition_rule() = *rule;
  if ((*entry)->descriptor.needs_target() && start.target_path().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(start.workload(), " needs a target"));
  }
  if (!(start.deadline_seconds() > 0)) return absl::InvalidArgumentError("the orders have no deadline");
  return *entry;
}

absl::Status SendReady(const WorkloadEntry& entry, const v1::WorkerStart& start, ControlPipe& pipe) {
  v1::WorkerEvent event;
  v1::WorkerReady& ready = *event.mutable_ready();
  for (const v1::ParameterDescriptor& parameter : entry.descriptor.parameters()) {
    const auto found = start.parameters().find(parameter.name());
    if (found == start.parameters().end()) continue;
    auto& values = parameter.role() == v1::PARAMETER_ROLE_DERIVED ? *ready.mutable_derived_parameters()
                                                                  : *ready.mutable_identity_parameters();
    values[parameter.name()] = found->second;
  }
  return pipe.Send(event);
}

v1::TaskFinished RunTask(const WorkloadEntry& entry, const v1::WorkerStart& start, ControlPipe& pipe) {
  std::optional<Scratch> scratch;
  if (entry.descriptor.writes()) {
    absl::StatusOr<Scratch> made = Scratch::Make(start);
    if (!made.ok()) return Failed(made.status());
    scratch = *std::move(made);
  }
  pipe.Watch(absl::Seconds(start.deadline_seconds()), [&scratch] {
    if (scratch.has_value()) scratch->Remove().IgnoreError();
  });
  FollowExecutor();
  absl::Status status = SendReady(entry, start, pipe);
  v1::TaskFinished finished = status.ok() ? RunLoop(entry, start, scratch.has_value() ? scratch->path() : std::string(),
                                                    {&SystemClock(), &pipe, &pipe.cancellation()})
                                          : Failed(status);
  if (scratch.has_value()) {
    status = scratch->Remove();
    if (!status.ok() && finished.outcome() == v1::TASK_OUTCOME_SUCCEEDED) {
      v1::Flag& flag = *finished.add_flags();
      flag.set_name("leftovers");
      flag.set_evidence(CleanUtf8(std::string(status.message())));
    }
  }
  return finished;
}

}  // namespace

int RunWorker(int control_fd, int event_fd, const std::vector<WorkloadEntry>& table) {
  SetUpProcess(control_fd, event_fd);
  ControlPipe pipe(control_fd, event_fd);
  absl::StatusOr<v1::WorkerStart> start = pipe.ReadStart();
  if (!start.ok()) return kExitBadOrders;
  const absl::StatusOr<const WorkloadEntry*> entry = CheckOrders(*start, table);
  v1::WorkerEvent event;
  *event.mutable_finished() = entry.ok() ? RunTask(**entry, *start, pipe) : Failed(entry.status());
  const bool sent = pipe.Send(event).ok();
  pipe.StopWatching();
  return sent ? 0 : kExitPipeLost;
}

}  // namespace fleetmark::agent
