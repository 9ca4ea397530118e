#include "collector/command_line.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "collector/collector.h"
#include "collector/fresh_directory.h"
#include "collector/options.h"
#include "collector/pki/authority.h"
#include "common/enroll/enroll_client.h"
#include "common/lifecycle/directory_lock.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"
#include "common/pki/files.h"
#include "common/pki/join_line.h"
#include "common/render/json.h"
#include "common/render/output.h"
#include "common/render/table.h"
#include "common/text/text.h"
#include "common/usage/exit_code.h"
#include "common/usage/usage.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kShutdown = absl::Seconds(8);
constexpr absl::Duration kShutdownAtMost = absl::Milliseconds(9500);

constexpr char kDescription[] =
    "fleetmark-collector: keeps the fleet's runs and results, and the agents that measure.\n"
    "Without options it makes a private PostgreSQL for itself (no TCP port) and its own certificate authority.";
constexpr char kFooter[] =
    "Examples:\n"
    "  fleetmark-collector                                       everything private, ports 7401 and 7402\n"
    "  fleetmark-collector start --database service=fleetmark    your PostgreSQL, named in pg_service.conf\n"
    "  fleetmark-collector start --listen 10.0.0.2:7401 --enroll-listen 10.0.0.2:7402   one address only\n"
    "  fleetmark-collector start --advertise attic.lan           how others reach it, for join lines\n"
    "  fleetmark-collector join LINE                             a further collector of the same fleet\n"
    "\n"
    "A collector that is ready writes <state>/ready (pid, address, enrollment) and one line on stderr; SIGTERM stops "
    "it\n"
    "within 10 s, tasks go on at the agents. A second signal ends it at once.\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 no collector or database reached, 4 nothing matched";

int Fail(const absl::Status& status) {
  const std::string line =
      absl::StrCat("fleetmark-collector: ", EscapeForTerminal(std::string(status.message())), "\n");
  std::fputs(line.c_str(), stderr);
  return ExitCodeOf(status);
}

std::string ReadyFile(const std::string& state_directory) { return state_directory + "/ready"; }

// Ends the process if the orderly way takes too long.
class ShutdownGuard {
 public:
  ShutdownGuard()
      : thread_([this] {
          SetThreadName("guard");
          if (done_.WaitFor(kShutdownAtMost)) return;
          LogError("collector", "stopping took too long; ending at once. Nothing that was acknowledged is lost");
          _exit(1);
        }) {}
  ~ShutdownGuard() {
    done_.Request();
    thread_.join();
  }

 private:
  StopSignal done_;
  std::thread thread_;
};

int Start(const CollectorOptions& options, const StopSignal& stop) {
  absl::StatusOr<std::unique_ptr<Collector>> collector = Collector::Start(options, stop);
  if (!collector.ok()) {
    return collector.status().code() == absl::StatusCode::kCancelled ? 0 : Fail(collector.status());
  }
  const std::string ready = absl::StrCat("pid ", getpid(), "\naddress ", (*collector)->address(), "\nenrollment ",
                                         (*collector)->enroll_address(), "\n");
  if (const absl::Status written = ReplaceFile(ReadyFile(options.state_directory), ready, 0644); !written.ok()) {
    LogError("collector", std::string(written.message()));
  }
  LogInfo("collector", absl::StrCat("ready on ", (*collector)->address(), ", enrolment on ",
                                    (*collector)->enroll_address().empty() ? "no port (a joined collector)"
                                                                           : (*collector)->enroll_address(),
                                    ", database: ", (*collector)->database()));
  while (!stop.WaitFor(absl::Hours(1))) {
  }
  LogInfo("collector", "stopping");
  const ShutdownGuard guard;
  unlink(ReadyFile(options.state_directory).c_str());
  const absl::Status stopped = (*collector)->Shutdown(kShutdown);
  if (!stopped.ok()) LogWarning("collector", std::string(stopped.message()));
  LogInfo("collector", "stopped");
  return 0;
}

int Join(const CollectorOptions& options, const std::string& line) {
  // Before anything is made: a mistyped line leaves nothing behind.
  if (const auto parsed = ParseJoinLine(line); !parsed.ok()) return Fail(parsed.status());
  FreshDirectory fresh(options.state_directory, {"lock"});
  if (const absl::Status made = MakePrivateDirectory(options.state_directory); !made.ok()) return Fail(made);
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(options.state_directory);
  if (!lock.ok()) return Fail(lock.status());
  utsname names{};
  uname(&names);
  EnrollOptions enroll;
  enroll.line = line;
  enroll.kind = IdentityKind::kCollector;
  enroll.reported_name = names.nodename;
  enroll.files = ServerFiles(options.state_directory);
  enroll.how_to_reset = absl::StrCat("remove ", options.state_directory, "/pki");
  const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(enroll);
  if (!enrolled.ok()) return Fail(enrolled.status());
  fresh.Keep();
  std::fputs(absl::StrCat("This collector (", enrolled->identity.id, ") belongs to the fleet of ",
                          absl::StrJoin(enrolled->collectors, ", "),
                          ".\nStart it on the same database: fleetmark-collector start --database ...\n")
                 .c_str(),
             stderr);
  return 0;
}

// "pid 12", "address 10.0.0.2:7401", ...: what the ready file says, a line each.
std::vector<std::pair<std::string, std::string>> FactsOf(const std::string& ready) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const absl::string_view line : absl::StrSplit(ready, '\n', absl::SkipEmpty())) {
    facts.push_back(absl::StrSplit(line, absl::MaxSplits(' ', 1)));
  }
  return facts;
}

std::string ShowStatus(const std::string& state, const std::string& ready, OutputMode output) {
  if (output == OutputMode::kTable) return absl::StrCat(state, "\n", ready);
  Table table{.columns = {{.header = "state"}}, .rows = {{Cell::Text(state)}}};
  JsonWriter json;
  json.BeginObject().Key("state").String(state);
  for (const auto& [name, value] : FactsOf(ready)) {
    table.columns.push_back({.header = name});
    table.rows.front().push_back(Cell::Text(value));
    json.Key(name).String(value);
  }
  return output == OutputMode::kCsv ? RenderCsv(table) : json.EndObject().text() + "\n";
}

int Status(const CollectorOptions& options, OutputMode output) {
  const absl::StatusOr<std::string> ready = ReadSmallFile(ReadyFile(options.state_directory));
  const absl::Status look = DirectoryLock::AcquireShared(options.state_directory).status();
  if (absl::IsFailedPrecondition(look)) {
    std::fputs(ShowStatus(ready.ok() ? "running" : "starting", ready.ok() ? *ready : "", output).c_str(), stdout);
    return 0;
  }
  if (!look.ok() && !absl::IsNotFound(look)) return Fail(look);
  const absl::Status none =
      absl::UnavailableError(absl::StrCat("no collector runs with the state directory ", options.state_directory,
                                          "; start one with fleetmark-collector, or give its --state-dir"));
  if (output == OutputMode::kJson) std::fputs(RenderJsonError(none, ExitCodeOf(none)).c_str(), stdout);
  return Fail(none);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, StopSignal& stop) {
  const std::string version = FLEETMARK_VERSION;
  Flags flags;
  std::string line;
  CLI::App app(kDescription, "fleetmark-collector");
  app.footer(kFooter);
  app.set_version_flag("--version", "fleetmark-collector " + version);
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_option("--state-dir", flags.state_directory,
                 "results, keys, private PostgreSQL (" + DefaultStateDirectory() + ")");
  app.add_option("--config-dir", flags.config_directory,
                 "where the local user's client configuration is written (" + DefaultConfigDirectory() + ")");
  app.add_option("--config", flags.config_file, "configuration file (protobuf text format: CollectorConfig)");
  app.add_option("--listen", flags.listen, "HOST:PORT for agents and people, mutual TLS only ([::]:7401)");
  app.add_option("--enroll-listen", flags.enroll_listen, "HOST:PORT for machines with an invitation ([::]:7402)");
  app.add_option("--database", flags.database,
                 "libpq connection string or URI, or service=NAME; default: a private one");
  app.add_option("--advertise", flags.advertise, "address or name under which others reach this machine; repeatable")
      ->allow_extra_args(false);
  app.add_option("--largest-batch", flags.largest_batch,
                 "results an agent sends in one message (256KiB); less is sent again when a slow link breaks");
  CLI::App* start = app.add_subcommand("start", "run the collector (the default)");
  CLI::App* join = app.add_subcommand("join", "make this a further collector of a fleet");
  join->add_option("LINE", line, "what `fleetmark collectors invite` printed")->required();
  CLI::App* status = app.add_subcommand("status", "whether a collector runs here, and where it listens");
  std::string output = "table";
  status->add_option("--output", output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  const std::string shared = SharedOptionsHelp(app);
  for (const auto& [command, examples] :
       {std::pair{start, "  fleetmark-collector start --database service=fleetmark\n"},
        {join, "  fleetmark-collector join LINE, then fleetmark-collector start --database service=fleetmark\n"},
        {status, "  fleetmark-collector status --output json\n"}}) {
    command->footer(absl::StrCat(shared, "\nExamples:\n", examples));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return Fail(absl::InvalidArgumentError(ExplainUsage(app, error)));
  }
  const absl::StatusOr<CollectorOptions> options = MakeOptions(flags, version);
  if (!options.ok()) {
    Fail(options.status());
    return kExitUsage;
  }
  if (join->parsed()) return Join(*options, line);
  if (status->parsed()) return Status(*options, OutputModeFromName(output).value_or(OutputMode::kTable));
  return Start(*options, stop);
}

}  // namespace fleetmark::collector
