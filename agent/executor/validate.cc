// ValidateTask: what the agent's own configuration and table allow.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/config/agent_config.h"
#include "agent/executor/executor.h"
#include "agent/platform/bounded_call.h"
#include "agent/platform/storage_stack.h"
#include "agent/worker/scratch.h"
#include "common/parameters/parameters.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr double kLongestQuietWait = 3600;

absl::Status CheckCeilings(const AgentLimits& limits, const v1::WorkloadDescriptor& workload,
                           const ParameterMap& parameters, const v1::RepetitionRule& rule) {
  const double longest = absl::ToDoubleSeconds(limits.max_duration);
  if (rule.has_budget_seconds() && rule.budget_seconds() > longest) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the repetitions of ", workload.name(), " may take ", FormatTimeSpan(absl::Seconds(rule.budget_seconds())),
        ", this host's configuration allows a task ", FormatTimeSpan(limits.max_duration),
        "; to allow it set there: max_duration: \"", FormatNumber(rule.budget_seconds()), "s\""));
  }
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    const auto found = parameters.find(parameter.name());
    if (found == parameters.end() || found->second.value_case() != v1::ParameterValue::kNumber) continue;
    const double value = found->second.number();
    const std::string named =
        absl::StrCat(workload.name(), ".", parameter.name(), "=", FormatParameter(parameter, found->second));
    if (parameter.type() == v1::PARAMETER_TYPE_SECONDS && value > longest) {
      return absl::PermissionDeniedError(
          absl::StrCat(named, " is above what this host's configuration allows (", FormatTimeSpan(limits.max_duration),
                       "); to allow it set there: max_duration: \"", FormatNumber(value), "s\""));
    }
    if (parameter.type() == v1::PARAMETER_TYPE_BYTES && workload.writes() && limits.max_bytes.has_value() &&
        value > *limits.max_bytes) {
      return absl::PermissionDeniedError(absl::StrCat(
          named, " is above what this host's configuration allows (", FormatQuantity(*limits.max_bytes, Unit::kBytes),
          "); to allow it set there: max_bytes: \"", FormatNumber(value), "B\""));
    }
    if (parameter.type() == v1::PARAMETER_TYPE_COUNT && parameter.name() == "threads" && limits.max_threads > 0 &&
        value > limits.max_threads) {
      return absl::PermissionDeniedError(absl::StrCat(named, " is above what this host's configuration allows (",
                                                      limits.max_threads,
                                                      "); to allow it set there: max_threads: ", FormatNumber(value)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const v1::TargetConfig& target, bool writes) {
  const std::string named = absl::StrCat("target \"", target.name(), "\" (", target.path(), ")");
  struct stat info = {};
  if (::stat(target.path().c_str(), &info) != 0) {
    if (errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat(named,
                                              " does not exist; make the directory, mount it, or correct the "
                                              "path in this host's configuration"));
    }
    return absl::FailedPreconditionError(absl::StrCat(named, ": ", strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(named, " is not a directory; name one in this host's configuration: targets { name: \"",
                     target.name(), "\" path: \"/absolute/directory\" }"));
  }
  const absl::StatusOr<OwnedFd> opened = OpenDirectoryWithoutLinks(target.path());
  if (!opened.ok()) {
    return absl::Status(opened.status().code(),
                        absl::StrCat("target \"", target.name(), "\": ", std::string(opened.status().message())));
  }
  if (writes) {
    struct statvfs file_system = {};
    if (::fstatvfs(opened->get(), &file_system) == 0 && (file_system.f_flag & ST_RDONLY) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(named, " is on a read-only file system; mount it for writing or choose another target"));
    }
    if (::faccessat(opened->get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      return absl::PermissionDeniedError(absl::StrCat(named, " is not writable for the agent's user (uid ", ::geteuid(),
                                                      "): ", strerror(errno), "; change its owner or mode"));
    }
  }
  const absl::StatusOr<StorageStack> stack = ResolveStorageStack(target.path());
  if (stack.ok() && stack->in_memory) {
    return absl::FailedPreconditionError(
        absl::StrCat(named, " is in memory (", stack->file_system,
                     "), a disk cannot be measured there; choose a directory on a disk"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTask(const v1::AgentConfig& config, const v1::StartTask& task,
                          const std::vector<WorkloadEntry>& workloads) {
  const absl::StatusOr<const WorkloadEntry*> entry = FindWorkload(workloads, task.workload(), task.version());
  if (!entry.ok()) return entry.status();
  const v1::WorkloadDescriptor& workload = (*entry)->descriptor;
  if (!IsWorkloadAllowed(config, workload.name())) {
    return absl::PermissionDeniedError(absl::StrCat("workload ", workload.name(),
                                                    " may not run on this host; to allow it add to its configuration: "
                                                    "workloads: \"",
                                                    workload.name(), "\""));
  }
  const ParameterMap given(task.parameters().begin(), task.parameters().end());
  const absl::StatusOr<ParameterMap> parameters = fleetmark::ResolveParameters(workload, given);
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<v1::RepetitionRule> rule =
      MergeRepetitionRules(workload.repetition_rule(), task.repetition_rule());
  if (!rule.ok()) return rule.status();
  if (task.has_quiet_wait_seconds() &&
      !(task.quiet_wait_seconds() >= 0 && task.quiet_wait_seconds() <= kLongestQuietWait)) {
    return absl::InvalidArgumentError("quiet_wait_seconds must be between 0 and 3600");
  }
  if (task.has_start_at_unix_seconds() && !std::isfinite(task.start_at_unix_seconds())) {
    return absl::InvalidArgumentError("start_at_unix_seconds is not a time");
  }
  const absl::StatusOr<AgentLimits> limits = LimitsOf(config);
  if (!limits.ok()) return limits.status();
  const absl::Status allowed = CheckCeilings(*limits, workload, *parameters, *rule);
  if (!allowed.ok()) return allowed;
  if (!workload.needs_target()) return absl::OkStatus();
  const absl::StatusOr<v1::TargetConfig> target = FindTarget(config, task.target());
  if (!target.ok()) return target.status();
  // A file system whose server is gone would hold the caller for ever.
  const std::optional<absl::Status> checked =
      CallBounded<absl::Status>(target->path(), kDiskAnswerLimit,
                                [target = *target, writes = workload.writes()] { return CheckTarget(target, writes); });
  if (!checked.has_value()) {
    return absl::UnavailableError(absl::StrCat("target \"", target->name(), "\" (", target->path(),
                                               ") did not answer within ", kDiskAnswerLimit.count(),
                                               " s; is its disk or its file server there?"));
  }
  return *checked;
}

}  // namespace fleetmark::agent
