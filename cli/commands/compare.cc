// fleetmark compare: hosts and runs side by side.
#include <memory>

#include "cli/commands/arguments.h"
#include "cli/commands/command.h"
#include "common/views/comparison_tables.h"

namespace fleetmark::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> what, runs, workloads, targets;
  bool force = false;
};

absl::StatusOr<v1::CompareRequest> ToRequest(const CompareOptions& options) {
  v1::CompareRequest request;
  std::vector<std::string> runs = SplitNames(options.runs);
  for (const std::string& word : SplitNames(options.what)) {
    if (word.rfind("run:", 0) == 0) {
      runs.push_back(word);
    } else {
      request.add_hosts(word);
    }
  }
  for (const std::string& run : runs) {
    const absl::StatusOr<int64_t> id = ParseRunId(run);
    if (!id.ok()) return id.status();
    request.add_run_ids(*id);
  }
  if (request.hosts().empty() && request.run_ids().empty()) {
    return absl::InvalidArgumentError("say what to compare: host names, run:12 run:15, or --run 12");
  }
  for (const std::string& workload : SplitNames(options.workloads)) request.add_workloads(workload);
  const auto targets = ParseTargets(options.targets);
  if (!targets.ok()) return targets.status();
  request.mutable_targets()->Assign(targets->begin(), targets->end());
  request.set_force(options.force);
  return request;
}

}  // namespace

Action DeclareCompare(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  app.add_option("what", options->what, "hosts, or runs as run:12; needed unless --run is given");
  app.add_option("--run", options->runs, "the results of this run")->allow_extra_args(false);
  app.add_option("--workload", options->workloads, "only these workloads")->allow_extra_args(false);
  app.add_option("--target", options->targets, "TARGET, or HOST=TARGET")->allow_extra_args(false);
  app.add_flag("--force", options->force, "put values with different parameters in one row");
  return [options](Context& context) {
    const absl::StatusOr<v1::CompareRequest> request = ToRequest(*options);
    if (!request.ok()) return context.Fail(request.status());
    v1::CompareResponse response;
    if (const absl::Status status = context.Ask(*request, response); !status.ok()) return context.Fail(status);
    return context.Print(response, ComparisonTables(response), ComparisonCsv(response));
  };
}

}  // namespace fleetmark::cli
