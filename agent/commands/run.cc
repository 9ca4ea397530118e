#include "agent/commands/run.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/commands/local_results.h"
#include "agent/commands/progress_line.h"
#include "agent/config/agent_config.h"
#include "agent/executor/executor.h"
#include "agent/executor/exit_reason.h"
#include "agent/inventory/inventory.h"
#include "common/parameters/parameters.h"
#include "common/text/text.h"
#include "common/views/comparison_tables.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kShutdownLimit = absl::Seconds(5);

// Keeps what the one task that runs just now yields.
class CollectingListener : public TaskListener {
 public:
  CollectingListener(const OutputOptions& output) : line_(STDERR_FILENO, output.units) {}

  void OnStart(const v1::StartTask& task) override { workload_ = task.workload(); }

  absl::Status OnRecords(const v1::StartTask&, std::vector<v1::Record> records) override {
    for (v1::Record& record : records) {
      if (record.has_started()) result_.mutable_started()->Swap(record.mutable_started());
      if (record.has_repetition()) result_.add_repetitions()->Swap(record.mutable_repetition());
      if (record.has_finished()) result_.mutable_finished()->Swap(record.mutable_finished());
    }
    return absl::OkStatus();
  }

  void OnProgress(const v1::Progress& progress) override { line_.Show(workload_, progress); }

  void OnEnd(const v1::StartTask&, const v1::TaskFinished&) override {
    line_.Clear();
    ended_.Request();
  }

  // Until the task has ended or somebody wants to stop.
  void Wait(const StopSignal& stop) const {
    pollfd fds[2] = {{ended_.fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    while (!ended_.requested() && !stop.requested()) ::poll(fds, 2, -1);
  }

  // REQUIRES: the executor has been shut down, or the task has ended.
  v1::TaskResult TakeResult() {
    SummarizeResult(result_);
    return std::move(result_);
  }

 private:
  std::string workload_;
  v1::TaskResult result_;
  ProgressLine line_;
  StopSignal ended_;
};

absl::StatusOr<v1::AgentConfig> LoadConfig(const RunOptions& options) {
  const std::string path = options.config_path.empty() ? DefaultConfigPath() : options.config_path;
  std::vector<std::string> warnings;
  absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(path, &warnings);
  if (!config.ok() && absl::IsNotFound(config.status()) && options.config_path.empty()) return v1::AgentConfig();
  for (const std::string& warning : warnings) {
    WriteAll(STDERR_FILENO, absl::StrCat("fleetmark-agent: ", EscapeForTerminal(warning), "\n")).IgnoreError();
  }
  return config;
}

// Whoever types a directory here may use it: it becomes a target of this run, and `typed` its name.
absl::Status AddTypedTarget(std::string& typed, v1::AgentConfig& config) {
  for (const v1::TargetConfig& target : config.targets()) {
    if (target.name() == typed) return absl::OkStatus();
  }
  char real[PATH_MAX];
  if (::realpath(typed.c_str(), real) == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("--target ", typed, ": ", strerror(errno), "; give a directory on the disk to measure"));
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(real, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target ", typed, ": is not a directory; give a directory on the disk to measure"));
  }
  std::string name = EscapeForTerminal(CleanUtf8(std::filesystem::path(real).filename().string()));
  for (const v1::TargetConfig& target : config.targets()) {
    if (target.name() == name) name.clear();
  }
  if (name.empty()) name = EscapeForTerminal(CleanUtf8(real));
  v1::TargetConfig& target = *config.add_targets();
  target.set_name(name);
  target.set_path(real);
  typed = name;
  return absl::OkStatus();
}

struct Setting {
  std::string workload;  // "": whichever has the parameter
  std::string name;
  std::string value;
};

absl::StatusOr<Setting> ParseSetting(const std::string& text, const std::vector<const WorkloadEntry*>& chosen) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": write it as name=value, as in size=2GiB"));
  }
  Setting setting{"", text.substr(0, equals), text.substr(equals + 1)};
  for (const WorkloadEntry* entry : chosen) {
    const std::string prefix = entry->descriptor.name() + ".";
    if (setting.name.rfind(prefix, 0) == 0) {
      setting.workload = entry->descriptor.name();
      setting.name = setting.name.substr(prefix.size());
      break;
    }
  }
  return setting;
}

absl::Status ApplySettings(const RunOptions& options, const std::vector<const WorkloadEntry*>& chosen,
                           std::vector<v1::StartTask>& tasks) {
  for (const std::string& text : options.set) {
    const absl::StatusOr<Setting> setting = ParseSetting(text, chosen);
    if (!setting.ok()) return setting.status();
    std::set<std::string> having;
    absl::Status unknown;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const v1::WorkloadDescriptor& workload = chosen[i]->descriptor;
      if (!setting->workload.empty() && setting->workload != workload.name()) continue;
      const absl::StatusOr<const v1::ParameterDescriptor*> parameter = FindParameter(workload, setting->name);
      if (!parameter.ok()) {
        unknown.Update(parameter.status());
        continue;
      }
      const absl::StatusOr<v1::ParameterValue> value = ParseParameter(**parameter, setting->value);
      if (!value.ok())
        return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": ", std::string(value.status().message())));
      having.insert(workload.name());
      (*tasks[i].mutable_parameters())[setting->name] = *value;
    }
    if (having.empty())
      return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": ", std::string(unknown.message())));
    if (having.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--set ", text,
                                                     ": several of the workloads have that parameter; write ",
                                                     *having.begin(), ".", setting->name, "=..."));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::StartTask>> MakeTasks(const RunOptions& options, const v1::AgentConfig& config,
                                                     const std::vector<WorkloadEntry>& table) {
  std::vector<v1::StartTask> tasks;
  std::vector<const WorkloadEntry*> chosen;
  for (const std::string& name : options.workloads) {
    const absl::StatusOr<const WorkloadEntry*> entry = FindWorkload(table, name, 0);
    if (!entry.ok()) return entry.status();
    chosen.push_back(*entry);
    v1::StartTask& task = tasks.emplace_back();
    // The process's number, so that the scratch of two runs on one target has two names; negative, as no collector's
    // is.
    task.set_task_id(-static_cast<int64_t>(::getpid()));
    task.set_attempt(static_cast<uint32_t>(tasks.size()));
    task.set_workload((*entry)->descriptor.name());
    task.set_version((*entry)->descriptor.version());
    if (options.repeat > 0) task.mutable_repetition_rule()->set_exactly(options.repeat);
    task.set_quiet_wait_seconds(options.quiet_wait_seconds);
    if (!(*entry)->descriptor.needs_target()) continue;
    if (options.target.empty() && config.targets().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " needs a directory on the disk to measure: add --target PATH (\".\" is this directory)"));
    }
    task.set_target(options.target);
  }
  const absl::Status applied = ApplySettings(options, chosen, tasks);
  if (!applied.ok()) return applied;
  for (const v1::StartTask& task : tasks) {
    const absl::Status valid = ValidateTask(config, task, table);
    if (!valid.ok()) return valid;
  }
  return tasks;
}

absl::Status MakeStateDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("make the state directory ", path, ": ", error.message(), "; give another with --state-dir"));
}

v1::TaskResult RunTask(const v1::StartTask& task, Executor::Dependencies dependencies, const OutputOptions& output,
                       StopSignal& stop) {
  CollectingListener listener(output);
  dependencies.listener = &listener;
  const std::unique_ptr<Executor> executor = Executor::Create(dependencies);
  executor->Start();
  const absl::Status submitted = executor->Submit(task);
  if (submitted.ok()) {
    listener.Wait(stop);
    if (stop.requested()) executor->Cancel(task.task_id(), task.attempt());
  }
  const std::string abandoned = executor->Shutdown(kShutdownLimit);
  v1::TaskResult result = listener.TakeResult();
  if (!result.has_finished()) {
    result.mutable_started()->set_workload(task.workload());
    result.mutable_started()->set_version(task.version());
    result.mutable_finished()->set_outcome(v1::TASK_OUTCOME_FAILED);
    result.mutable_finished()->set_reason(submitted.ok() ? abandoned : CleanUtf8(std::string(submitted.message())));
  }
  return result;
}

std::string DescribeFailure(const v1::StartTask& task, const v1::TaskFinished& finished) {
  return absl::StrCat(task.workload(), task.target().empty() ? "" : absl::StrCat(" on ", task.target()), " ",
                      std::string(OutcomeName(finished.outcome())), ": ",
                      finished.reason().empty() ? "no reason was given" : finished.reason());
}

}  // namespace

int RunHere(RunOptions options, StopSignal& stop, const std::vector<WorkloadEntry>& table,
            const std::string& worker_program) {
  absl::StatusOr<v1::AgentConfig> config = LoadConfig(options);
  if (!config.ok()) return Fail(options.output, config.status());
  if (!options.target.empty()) {
    const absl::Status added = AddTypedTarget(options.target, *config);
    if (!added.ok()) return Fail(options.output, added);
  }
  const absl::StatusOr<std::vector<v1::StartTask>> tasks = MakeTasks(options, *config, table);
  if (!tasks.ok()) return Fail(options.output, tasks.status());
  Executor::Dependencies dependencies;
  dependencies.config = &*config;
  dependencies.take_inventory = [&config] { return TakeInventory(*config); };
  dependencies.state_directory = options.state_directory.empty()
                                     ? DefaultStateDirectory()
                                     : std::filesystem::absolute(options.state_directory).string();
  dependencies.workloads = &table;
  dependencies.worker_program = worker_program;
  const absl::Status made = MakeStateDirectory(dependencies.state_directory);
  if (!made.ok()) return Fail(options.output, made);

  v1::TaskResults results;
  bool all_succeeded = true, any_succeeded = false;
  for (const v1::StartTask& task : *tasks) {
    if (stop.requested()) break;
    const v1::TaskResult& result = *results.add_results() = RunTask(task, dependencies, options.output, stop);
    if (result.finished().outcome() == v1::TASK_OUTCOME_SUCCEEDED) {
      any_succeeded = true;
      continue;
    }
    all_succeeded = false;
    if (!stop.requested()) Say(DescribeFailure(task, result.finished()));
  }
  if (stop.requested() && !any_succeeded) {
    return Fail(options.output, absl::CancelledError("cancelled; nothing was left behind"));
  }
  const v1::CompareResponse comparison = CompareLocal(results);
  const int printed = Print(options.output, ComparisonTables(comparison), ComparisonCsv(comparison), results);
  if (stop.requested()) {
    Say("cancelled; what was measured before is shown, nothing was left behind");
    return kExitInterrupted;
  }
  return printed != kExitOk || all_succeeded ? printed : kExitFailed;
}

}  // namespace fleetmark::agent
