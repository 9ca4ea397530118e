#include "agent/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "agent/commands/daemon.h"
#include "agent/commands/run.h"
#include "agent/commands/show.h"
#include "agent/commands/status.h"
#include "common/render/json.h"
#include "common/text/text.h"
#include "common/usage/usage.h"

namespace fleetmark::agent {
namespace {

// What the options are parsed into.
struct Arguments {
  std::string output = "table";
  bool json = false;
  std::string units = "decimal";
  bool raw = false;
  std::string config;
  std::string state_directory;
  RunOptions run;
  std::vector<std::string> join_line;
  std::string join_target;

  Places places() const { return {config, state_directory}; }
  OutputOptions Output() const {
    OutputOptions options;
    options.mode = json ? OutputMode::kJson : OutputModeFromName(output).value_or(OutputMode::kTable);
    options.units = UnitFamilyFromName(units).value_or(UnitFamily::kDecimal);
    options.raw = raw;
    return options;
  }
};

using Action = std::function<int()>;

void DeclareOutput(CLI::App& app, Arguments& arguments) {
  app.add_option("--output", arguments.output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "the same as --output json");
  app.add_option("--units", arguments.units, "decimal (1 MB = 1 000 000 B) or iec (1 MiB = 1 048 576 B)")
      ->check(CLI::IsMember({"decimal", "iec"}))
      ->capture_default_str();
  app.add_flag("--raw", arguments.raw, "csv: leave text that a spreadsheet would take for a formula as it is");
}

void DeclareConfig(CLI::App& app, Arguments& arguments) {
  app.add_option("--config", arguments.config, "the agent's configuration file")->envname("FLEETMARK_AGENT_CONFIG");
}

void DeclareRun(CLI::App& app, Arguments& arguments, Action& chosen, StopSignal& stop) {
  CLI::App* run = app.add_subcommand("run", "Measure this machine here and now, without a collector");
  run->add_option("WORKLOAD", arguments.run.workloads, "what to measure; `fleetmark-agent workloads` lists them")
      ->required();
  run->add_option("--target", arguments.run.target,
                  "a directory on the disk to measure, or a configured target's name");
  run->add_option("--set", arguments.run.set, "a parameter: size=2GiB, or disk.profile.size=2GiB")
      ->allow_extra_args(false);
  run->add_option("--repeat", arguments.run.repeat, "exactly so many repetitions")->check(CLI::Range(1, 1000));
  run->add_option("--quiet-wait", arguments.run.quiet_wait_seconds, "seconds to wait at most for a quiet machine")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  run->add_option("--state-dir", arguments.state_directory, "where notes about scratch files are kept")
      ->envname("FLEETMARK_AGENT_STATE_DIR");
  DeclareConfig(*run, arguments);
  DeclareOutput(*run, arguments);
  run->footer(
      "Examples:\n"
      "  fleetmark-agent run disk.profile --target .\n"
      "  fleetmark-agent run disk.profile --target /mnt/ssd --set size=2GiB --repeat 5\n"
      "  fleetmark-agent run memory.stream host.clock --output json\n\n"
      "Ctrl-C ends it and leaves no file behind; a second one leaves at once.");
  run->callback([&] {
    chosen = [&] {
      arguments.run.config_path = arguments.config;
      arguments.run.state_directory = arguments.state_directory;
      arguments.run.output = arguments.Output();
      return RunHere(arguments.run, stop);
    };
  });
}

void DeclareInventory(CLI::App& app, Arguments& arguments, Action& chosen) {
  CLI::App* inventory = app.add_subcommand("inventory", "Show what the agent knows of this machine and its targets");
  DeclareConfig(*inventory, arguments);
  DeclareOutput(*inventory, arguments);
  inventory->footer(
      "Examples:\n"
      "  fleetmark-agent inventory\n"
      "  fleetmark-agent inventory --output json");
  inventory->callback([&] { chosen = [&] { return ShowInventory(arguments.config, arguments.Output()); }; });
}

void DeclareWorkloads(CLI::App& app, Arguments& arguments, Action& chosen) {
  CLI::App* workloads = app.add_subcommand("workloads", "List what can be measured, with parameters and their ranges");
  DeclareOutput(*workloads, arguments);
  workloads->footer(
      "Examples:\n"
      "  fleetmark-agent workloads\n"
      "  fleetmark-agent workloads --output json");
  workloads->callback([&] { chosen = [&] { return ShowWorkloads(arguments.Output()); }; });
}

void DeclareState(CLI::App& app, Arguments& arguments) {
  app.add_option("--state-dir", arguments.state_directory, "identity, spool and notes about scratch files")
      ->envname("FLEETMARK_AGENT_STATE_DIR");
}

void DeclareDaemon(CLI::App& app, Arguments& arguments, Action& chosen, StopSignal& stop) {
  CLI::App* start =
      app.add_subcommand("start", "Connect to the fleet's collectors and do what they ask, until stopped");
  CLI::App* join = app.add_subcommand("join", "Make this machine a member of a fleet");
  join->add_option("LINE", arguments.join_line, "what `fleetmark hosts invite` printed")->required();
  join->add_option("--target", arguments.join_target,
                   "an existing directory on the disk to measure by default, where there is no configuration yet; "
                   "default: one in the state");
  CLI::App* reset = app.add_subcommand("reset-id", "Forget identity and spool, in a copy of a machine that has joined");
  CLI::App* status =
      app.add_subcommand("status", "Show the identity, whether the agent runs, and what waits to be sent");
  for (CLI::App* command : {start, join, reset, status}) DeclareState(*command, arguments);
  for (CLI::App* command : {start, status}) DeclareConfig(*command, arguments);
  join->add_option("--config", arguments.config, "where the configuration is written; its name must be agent.textproto")
      ->envname("FLEETMARK_AGENT_CONFIG");
  reset->footer("Example:\n  fleetmark-agent reset-id    then: fleetmark-agent join LINE");
  start->footer(
      "Example:\n  fleetmark-agent start\n\nIt stays in the foreground and logs to stderr; SIGTERM stops it.");
  DeclareOutput(*status, arguments);
  status->footer(
      "Examples:\n"
      "  fleetmark-agent status\n"
      "  fleetmark-agent status --output json\n\n"
      "Exit code 0 if an agent runs here, else 1.");
  join->footer("Example:\n  fleetmark-agent join LINE --target /mnt/ssd");
  start->callback([&] { chosen = [&] { return StartDaemon(arguments.places(), stop); }; });
  join->callback([&] {
    chosen = [&] {
      std::string line;
      for (const std::string& word : arguments.join_line) line += (line.empty() ? "" : " ") + word;
      return Join(arguments.places(), line, arguments.join_target);
    };
  });
  reset->callback([&] { chosen = [&] { return ResetId(arguments.places()); }; });
  status->callback([&] { chosen = [&] { return ShowStatus(arguments.places(), arguments.Output()); }; });
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, StopSignal& stop) {
  Arguments arguments;
  Action chosen;
  CLI::App app("fleetmark-agent: measures this machine, for a collector or here and now", "fleetmark-agent");
  app.set_version_flag("--version", "fleetmark-agent " FLEETMARK_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fleetmark-agent run disk.profile --target .    measure the disk this directory is on\n"
      "  fleetmark-agent inventory                      what it knows of this machine\n"
      "  fleetmark-agent join LINE                      become a member of a fleet\n"
      "  fleetmark-agent start                          serve it\n\n"
      "Exit codes: 0 ok, 1 failed or partial, 2 usage, 3 collector unreachable, 4 nothing matched, 130 Ctrl-C");
  DeclareRun(app, arguments, chosen, stop);
  DeclareInventory(app, arguments, chosen);
  DeclareWorkloads(app, arguments, chosen);
  DeclareDaemon(app, arguments, chosen, stop);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);
    const std::string message = ExplainUsage(app, error);
    if (arguments.Output().mode == OutputMode::kJson) {
      std::cout << RenderJsonError(absl::InvalidArgumentError(message), kExitUsage);
    }
    std::cerr << "fleetmark-agent: " << EscapeForTerminal(message) << "\n";
    return kExitUsage;
  }
  return chosen();
}

}  // namespace fleetmark::agent
