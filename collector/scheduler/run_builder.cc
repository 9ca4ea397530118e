#include "collector/scheduler/run_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/scheduler/run_parameters.h"
#include "collector/scheduler/run_targets.h"
#include "common/units/format.h"

namespace fleetmark::collector {
namespace {

constexpr int kMostTasks = 10'000;  // an answer with all of them stays under kMaxMessageBytes

class RunBuilder {
 public:
  RunBuilder(const v1::CreateRunRequest& request, const v1::Suite& suite, const std::vector<HostToRun>& hosts,
             const std::vector<v1::WorkloadDescriptor>& fleet_workloads)
      : request_(request),
        suite_(suite),
        hosts_(hosts),
        fleet_workloads_(fleet_workloads),
        targets_(request.targets().begin(), request.targets().end()) {}

  absl::StatusOr<RunPlan> Build(const std::string& who) {
    if (hosts_.empty()) return absl::NotFoundError(absl::StrCat(kNothingMatched, "no host"));
    if (const absl::Status status = CheckRequest(); !status.ok()) return status;
    if (const absl::Status status = CheckTargets(targets_, hosts_); !status.ok()) return status;
    absl::StatusOr<AskedParameters> asked =
        AssignParameters({request_.parameters().begin(), request_.parameters().end()}, suite_, fleet_workloads_);
    if (!asked.ok()) return asked.status();
    asked_ = *std::move(asked);

    NewRun& run = plan_.run;
    run.request_key = request_.request_key();
    run.name = request_.name();
    run.suite = suite_.name();
    run.suite_version = suite_.version();
    run.created_by = who;
    run.serial = request_.serial();
    if (request_.has_give_up_seconds()) run.give_up = absl::Seconds(request_.give_up_seconds());
    for (const HostToRun& host : hosts_) {
      if (const absl::Status status = AddHost(host); !status.ok()) return status;
    }
    return std::move(plan_);
  }

 private:
  absl::Status CheckRequest() const {
    if (suite_.entries().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("suite ", suite_.name(), " has no entries"));
    }
    if (request_.has_repeat() && (request_.repeat() == 0 || request_.repeat() > kMostRepetitions)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--repeat ", request_.repeat(), ": must be between 1 and ", kMostRepetitions));
    }
    if (request_.has_give_up_seconds() &&
        !(request_.give_up_seconds() >= 1 && request_.give_up_seconds() <= 366.0 * 86400)) {
      return absl::InvalidArgumentError("the give-up time must be between 1 second and a year");
    }
    if (request_.name().size() > 200) return absl::InvalidArgumentError("a run's name has at most 200 bytes");
    if (static_cast<size_t>(suite_.entries_size()) * hosts_.size() > kMostTasks) {
      return absl::InvalidArgumentError(absl::StrCat("this run would have more than ", kMostTasks, " tasks"));
    }
    return absl::OkStatus();
  }

  absl::Status AddHost(const HostToRun& host) {
    if (host.workloads.empty() && !host.host.connected()) {
      plan_.warnings.push_back(absl::StrCat(host.host.name(), " has never connected: its tasks are skipped; start the ",
                                            "agent there (fleetmark-agent start) and run again"));
    } else if (!host.host.connected()) {
      plan_.warnings.push_back(absl::StrCat(host.host.name(), " is not connected: its tasks wait for it, at most ",
                                            FormatTimeSpan(plan_.run.give_up),
                                            " (--give-up); start the agent there (fleetmark-agent start)"));
    } else if (!host.host.refuses_tasks_because().empty()) {
      plan_.warnings.push_back(
          absl::StrCat(host.host.name(), " takes no tasks just now: ", host.host.refuses_tasks_because()));
    }
    uint32_t position = 0;
    for (const v1::SuiteEntry& entry : suite_.entries()) {
      if (const absl::Status status = AddEntry(host, entry, position); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status AddEntry(const HostToRun& host, const v1::SuiteEntry& entry, uint32_t& position) {
    NewTask task;
    task.host = host.host.id();
    task.host_name = host.host.name();
    task.labels = {host.host.labels().begin(), host.host.labels().end()};
    task.workload = entry.workload();
    task.version = entry.version();
    if (suite_.has_quiet_wait_seconds()) task.quiet_wait_seconds = suite_.quiet_wait_seconds();

    const v1::WorkloadDescriptor* offered = FindWorkload(host.workloads, entry.workload(), entry.version());
    // Values are checked by the host's own descriptor, and without it by anybody's.
    const v1::WorkloadDescriptor* known =
        offered != nullptr ? offered : FindWorkload(fleet_workloads_, entry.workload(), entry.version());
    if (known == nullptr) {
      task.skipped_because = NotOffered(host, entry);
      Add(std::move(task), position);
      return absl::OkStatus();
    }
    task.version = known->version();
    absl::StatusOr<ParameterMap> parameters = ParametersOf(entry, asked_, *known);
    if (!parameters.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(known->name(), ": ", std::string(parameters.status().message())));
    }
    task.parameters = *std::move(parameters);
    v1::RepetitionRule given = entry.repetitions();
    if (request_.has_repeat()) {
      given.Clear();
      given.set_exactly(request_.repeat());
    }
    absl::StatusOr<v1::RepetitionRule> rule = MergeRepetitionRules(known->repetition_rule(), given);
    if (!rule.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(known->name(), ": ", std::string(rule.status().message())));
    }
    task.repetition_rule = *std::move(rule);
    if (offered == nullptr) task.skipped_because = NotOffered(host, entry);

    if (!known->needs_target()) {
      Add(std::move(task), position);
      return absl::OkStatus();
    }
    for (const ChosenTarget& target : ChooseTargets(host.host, targets_)) {
      NewTask on_target = task;
      on_target.target = target.name;
      if (on_target.skipped_because.empty()) on_target.skipped_because = target.problem;
      Add(std::move(on_target), position);
    }
    return absl::OkStatus();
  }

  std::string NotOffered(const HostToRun& host, const v1::SuiteEntry& entry) const {
    std::set<std::string> versions;
    for (const v1::WorkloadDescriptor& workload : host.workloads) {
      if (workload.name() == entry.workload()) versions.insert(absl::StrCat(workload.version()));
    }
    const std::string agent =
        host.host.agent_version().empty() ? "" : absl::StrCat(" (agent ", host.host.agent_version(), ")");
    if (host.workloads.empty())
      return absl::StrCat("the agent of ", host.host.name(), " has not said yet what it can do");
    if (versions.empty())
      return absl::StrCat("the agent of ", host.host.name(), agent, " does not offer ", entry.workload());
    return absl::StrCat("the agent of ", host.host.name(), agent, " offers ", entry.workload(), " version ",
                        absl::StrJoin(versions, ", "), ", not ", entry.version());
  }

  void Add(NewTask task, uint32_t& position) {
    task.position = position++;
    plan_.run.tasks.push_back(std::move(task));
  }

  const v1::CreateRunRequest& request_;
  const v1::Suite& suite_;
  const std::vector<HostToRun>& hosts_;
  const std::vector<v1::WorkloadDescriptor>& fleet_workloads_;
  const std::vector<v1::TargetChoice> targets_;
  AskedParameters asked_;
  RunPlan plan_;
};

}  // namespace

absl::StatusOr<RunPlan> BuildRun(const v1::CreateRunRequest& request, const v1::Suite& suite,
                                 const std::vector<HostToRun>& hosts,
                                 const std::vector<v1::WorkloadDescriptor>& fleet_workloads, const std::string& who) {
  return RunBuilder(request, suite, hosts, fleet_workloads).Build(who);
}

}  // namespace fleetmark::collector
