#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <sstream>

#include "cli/commands/command.h"
#include "common/render/json.h"
#include "common/text/text.h"
#include "common/units/units.h"
#include "common/usage/usage.h"

namespace fleetmark::cli {
namespace {

std::string Indented(const std::string& lines) {
  std::string result;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) result += "  " + line + "\n";
  return result;
}

void DeclareShared(CLI::App& app, SharedOptions& options) {
  app.add_option("--output", options.output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  app.add_flag("--json", options.json, "the same as --output json");
  app.add_option("--units", options.units, "decimal (1 MB = 1 000 000 B) or iec (1 MiB = 1 048 576 B)")
      ->check(CLI::IsMember({"decimal", "iec"}))
      ->capture_default_str();
  app.add_flag("--raw", options.raw, "csv: leave text that a spreadsheet would take for a formula as it is");
  app.add_option("--collector", options.collector, "address of the collector instead of the configured ones");
  app.add_option("--config-dir", options.config_directory, "where your certificate is")
      ->envname("FLEETMARK_CONFIG_DIR");
}

bool WantsJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" || word == "--output=json") return true;
    if (word == "--output" && i + 1 < argc && std::string(argv[i + 1]) == "json") return true;
  }
  return false;
}

// The protocol's texts are UTF-8, and only here it can be said which word is not. Paths may be any bytes.
absl::Status CheckEncoding(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool path = word.find('/') != std::string::npos || std::string(argv[i - 1]) == "add";
    if (path || CleanUtf8(word) == word) continue;
    return absl::InvalidArgumentError("'" + CleanUtf8(word) +
                                      "' is not UTF-8; type it in a terminal with a UTF-8 locale");
  }
  return absl::OkStatus();
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, StopSignal& stop, Context::ClientFactory make_client) {
  SharedOptions options;
  CLI::App app("fleetmark: which of your machines is faster, at what, by how much, and why", "fleetmark");
  app.set_version_flag("--version", "fleetmark " FLEETMARK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  DeclareShared(app, options);
  app.footer(
      "Examples:\n"
      "  fleetmark hosts invite                 a line to type on another machine\n"
      "  fleetmark run quick --all              measure every machine\n"
      "  fleetmark compare mac-pro thinkpad     which is faster, at what, by how much\n\n"
      "Exit codes: 0 ok, 1 failed or partial, 2 usage, 3 collector unreachable, 4 nothing matched, 130 Ctrl-C");

  const std::string shared = SharedOptionsHelp(app);
  Action chosen;
  std::map<std::string, CLI::App*> apps;
  for (const Command& command : CommandTable()) {
    const std::string name = command.name;
    const size_t blank = name.find(' ');
    CLI::App* parent = blank == std::string::npos ? &app : apps.at(name.substr(0, blank));
    CLI::App* sub = parent->add_subcommand(blank == std::string::npos ? name : name.substr(blank + 1), command.help);
    apps[name] = sub;
    sub->fallthrough();
    sub->footer(shared + "\nExamples:\n" + Indented(command.examples));
    if (command.declare == nullptr) {
      sub->require_subcommand(1);
      continue;
    }
    const Action action = command.declare(*sub);
    // A group's own action runs only if none of its members was chosen.
    sub->final_callback([sub, action, &chosen] {
      if (sub->get_subcommands().empty()) chosen = action;
    });
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);
    const std::string message = ExplainUsage(app, error);
    if (WantsJson(argc, argv)) std::cout << RenderJsonError(absl::InvalidArgumentError(message), kExitUsage);
    std::cerr << "fleetmark: " << EscapeForTerminal(message) << "\n";
    return kExitUsage;
  }
  Context context(options, stop, std::move(make_client));
  if (const absl::Status status = CheckEncoding(argc, argv); !status.ok()) return context.Fail(status);
  return chosen(context);
}

}  // namespace fleetmark::cli
