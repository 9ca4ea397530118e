// A command is a row in the table of commands and a file in this folder.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "cli/commands/context.h"

namespace fleetmark::cli {

// What a chosen command does, once the line is parsed. Returns the exit code.
using Action = std::function<int(Context&)>;

struct Command {
  const char* name;      // "hosts label": words of the command line
  const char* help;      // one line
  const char* examples;  // shown by --help, a line each
  // Declares options on `app` and returns the action; the action owns what the options are parsed into.
  Action (*declare)(CLI::App& app);
};

// All commands, in the order --help lists them. A group ("hosts") comes before its members ("hosts label").
const std::vector<Command>& CommandTable();

// The rows of each file.
Action DeclareRun(CLI::App& app);
Action DeclareRuns(CLI::App& app);
Action DeclareRunsShow(CLI::App& app);
Action DeclareRunsWatch(CLI::App& app);
Action DeclareRunsCancel(CLI::App& app);
Action DeclareCompare(CLI::App& app);
Action DeclareHosts(CLI::App& app);
Action DeclareHostsShow(CLI::App& app);
Action DeclareHostsInvite(CLI::App& app);
Action DeclareHostsLabel(CLI::App& app);
Action DeclareHostsRename(CLI::App& app);
Action DeclareHostsRemove(CLI::App& app);
Action DeclareDisks(CLI::App& app);
Action DeclareWorkloads(CLI::App& app);
Action DeclareSuites(CLI::App& app);
Action DeclareSuitesAdd(CLI::App& app);
Action DeclareCollectorsInvite(CLI::App& app);
Action DeclarePeopleInvite(CLI::App& app);
Action DeclareLogin(CLI::App& app);
Action DeclareStatus(CLI::App& app);

}  // namespace fleetmark::cli
