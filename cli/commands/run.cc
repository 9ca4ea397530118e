// fleetmark run: creates a run, watches it, prints its results.
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_format.h"
#include "cli/commands/arguments.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "common/pki/random.h"
#include "common/text/text.h"
#include "common/units/parse.h"

namespace fleetmark::cli {
namespace {

struct RunOptions {
  std::string suite = "quick";
  std::vector<std::string> hosts, where, targets, sets;
  bool all = false, serial = false, detach = false;
  std::optional<unsigned> repeat;
  std::string name, give_up;
};

absl::StatusOr<v1::CreateRunRequest> ToRequest(const RunOptions& options) {
  v1::CreateRunRequest request;
  request.set_request_key(NewUuid());
  request.set_suite(options.suite);
  for (const std::string& host : SplitNames(options.hosts)) request.add_hosts(host);
  request.set_all_hosts(options.all);
  const auto where = ParseKeyValues(options.where, "--where");
  if (!where.ok()) return where.status();
  request.mutable_where()->insert(where->begin(), where->end());
  const int selections = (request.hosts().empty() ? 0 : 1) + (options.all ? 1 : 0) + (where->empty() ? 0 : 1);
  if (selections == 0) {
    return absl::InvalidArgumentError("say which hosts: --hosts a,b, --where label=value, or --all");
  }
  if (options.all && selections > 1) {
    return absl::InvalidArgumentError("--all takes every host: leave out --hosts and --where");
  }
  const auto targets = ParseTargets(options.targets);
  if (!targets.ok()) return targets.status();
  request.mutable_targets()->Assign(targets->begin(), targets->end());
  const auto sets = ParseKeyValues(options.sets, "--set");
  if (!sets.ok()) return sets.status();
  request.mutable_parameters()->insert(sets->begin(), sets->end());
  if (options.repeat) request.set_repeat(*options.repeat);
  request.set_serial(options.serial);
  request.set_name(options.name);
  if (!options.give_up.empty()) {
    const auto give_up = ParseDuration(options.give_up);
    if (!give_up.ok()) return give_up.status();
    request.set_give_up_seconds(absl::ToDoubleSeconds(*give_up));
  }
  return request;
}

// "run 12: mac-pro (ssd), thinkpad (data)": on which disk, before anything is written to it.
std::string WhatIsMeasured(const v1::Run& run) {
  std::map<std::string, std::set<std::string>> targets;
  for (const v1::Task& task : run.tasks()) {
    std::set<std::string>& of_host = targets[task.host()];
    if (!task.target().empty()) of_host.insert(task.target());
  }
  std::string text;
  for (const auto& [host, names] : targets) {
    text += (text.empty() ? "" : ", ") + EscapeForTerminal(host);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + EscapeForTerminal(name);
    if (!list.empty()) text += " (" + list + ")";
  }
  return absl::StrFormat("run %d: %s", run.id(), text);
}

int Execute(Context& context, const RunOptions& options) {
  const absl::StatusOr<v1::CreateRunRequest> request = ToRequest(options);
  if (!request.ok()) return context.Fail(request.status());
  v1::CreateRunResponse response;
  if (const absl::Status status = context.Ask(*request, response); !status.ok()) return context.Fail(status);
  for (const std::string& warning : response.warnings()) {
    context.Say("fleetmark: warning: " + EscapeForTerminal(warning));
  }
  if (options.detach) {
    context.Say(absl::StrFormat("run %d goes on by itself; fleetmark runs watch %d follows it", response.run().id(),
                                response.run().id()));
    Table table{.columns = {{.header = "run"}}};
    table.rows.push_back({Cell::Text(absl::StrFormat("%d", response.run().id()))});
    return context.Print(response.run(), table);
  }
  context.Say(WhatIsMeasured(response.run()));
  return FollowRun(context, response.run().id(), CtrlC::kCancelsRun);
}

}  // namespace

Action DeclareRun(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("suite", options->suite, "a suite (fleetmark suites) or a workload (fleetmark workloads)")
      ->capture_default_str();
  app.add_option("--hosts,--host", options->hosts,
                 "names, separated by commas; or --where, or --all: one of the three is needed")
      ->allow_extra_args(false);
  app.add_flag("--all", options->all, "every host of the fleet");
  app.add_option("--where", options->where, "hosts with this label (room=attic); several must all hold")
      ->allow_extra_args(false);
  app.add_option("--target", options->targets, "TARGET, or HOST=TARGET; default: each host's default target")
      ->allow_extra_args(false);
  app.add_option("--set", options->sets, "a parameter, disk.profile.size=2GiB, or size=2GiB where only one has it")
      ->allow_extra_args(false);
  app.add_option("--repeat", options->repeat, "exactly so many repetitions")->check(CLI::Range(1U, 1000U));
  app.add_flag("--serial", options->serial, "one host at a time: for shared power, network or NAS");
  app.add_flag("--detach", options->detach, "do not wait for the results");
  app.add_option("--name", options->name, "a name for the run");
  app.add_option("--give-up", options->give_up, "how long to wait for hosts that are away (default 24h)");
  return [options](Context& context) { return Execute(context, *options); };
}

}  // namespace fleetmark::cli
