// fleetmark runs, runs show, runs watch, runs cancel.
#include <memory>

#include "absl/strings/str_format.h"
#include "cli/commands/arguments.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/tables.h"

namespace fleetmark::cli {
namespace {

// The run that was named, or the newest.
absl::StatusOr<v1::Run> AskForRun(Context& context, const std::string& word) {
  v1::GetRunRequest request;
  if (!word.empty()) {
    const absl::StatusOr<int64_t> id = ParseRunId(word);
    if (!id.ok()) return id.status();
    request.set_run_id(*id);
  }
  v1::GetRunResponse response;
  if (const absl::Status status = context.Ask(request, response); !status.ok()) return status;
  return response.run();
}

std::shared_ptr<std::string> AddRunArgument(CLI::App& app, bool required) {
  const auto word = std::make_shared<std::string>();
  app.add_option("run", *word, required ? "its number" : "its number; default: the newest")->required(required);
  return word;
}

}  // namespace

Action DeclareRuns(CLI::App& app) {
  const auto limit = std::make_shared<unsigned>(20);
  app.add_option("--limit", *limit, "how many")->check(CLI::Range(1U, 1000U))->capture_default_str();
  return [limit](Context& context) {
    v1::ListRunsRequest request;
    request.set_limit(*limit);
    v1::ListRunsResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    if (response.runs().empty()) context.Say("no runs yet; fleetmark run quick --all makes the first");
    return context.Print(response, RunsTable(response));
  };
}

Action DeclareRunsShow(CLI::App& app) {
  const auto word = AddRunArgument(app, false);
  return [word](Context& context) {
    const absl::StatusOr<v1::Run> run = AskForRun(context, *word);
    if (!run.ok()) return context.Fail(run.status());
    return context.Print(*run, TasksTable(*run));
  };
}

Action DeclareRunsWatch(CLI::App& app) {
  const auto word = AddRunArgument(app, false);
  return [word](Context& context) {
    const absl::StatusOr<v1::Run> run = AskForRun(context, *word);
    if (!run.ok()) return context.Fail(run.status());
    return FollowRun(context, run->id(), CtrlC::kStopsWatching);
  };
}

Action DeclareRunsCancel(CLI::App& app) {
  const auto word = AddRunArgument(app, true);
  return [word](Context& context) {
    const absl::StatusOr<int64_t> id = ParseRunId(*word);
    if (!id.ok()) return context.Fail(id.status());
    v1::CancelRunRequest request;
    request.set_run_id(*id);
    v1::CancelRunResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    const v1::RunState state = response.run().state();
    if (state == v1::RUN_STATE_CREATED || state == v1::RUN_STATE_RUNNING) {
      context.Say(
          absl::StrFormat("run %d is being cancelled: its hosts were told to stop; fleetmark runs watch %d "
                          "shows when they have",
                          *id, *id));
    }
    return context.Print(response.run(), TasksTable(response.run()));
  };
}

}  // namespace fleetmark::cli
