// fleetmark workloads, suites, suites add, status: what there is.
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/commands/command.h"
#include "cli/commands/tables.h"
#include "common/text/text.h"

namespace fleetmark::cli {
namespace {

absl::Status NotThere(const std::string& kind, const std::string& name, const std::vector<std::string>& names) {
  std::string message = "there is no " + kind + " '" + name + "'";
  const std::string nearest = NearestMatch(name, names);
  if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
  return absl::NotFoundError(message + " (fleetmark " + kind + "s lists them)");
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(path + " is a directory; name one suite file in it");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::InvalidArgumentError("cannot read " + path + "; is the path right?");
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str().size() > (1U << 20)) return absl::InvalidArgumentError(path + " is larger than 1 MiB: no suite file");
  if (CleanUtf8(text.str()) != text.str()) return absl::InvalidArgumentError(path + " is not UTF-8; save it as UTF-8");
  return text.str();
}

}  // namespace

Action DeclareWorkloads(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("workload", *name, "show the parameters and metrics of this one");
  return [name](Context& context) {
    v1::ListWorkloadsResponse response;
    if (const absl::Status status = context.Ask(v1::ListWorkloadsRequest(), response); !status.ok()) {
      return context.Fail(status);
    }
    if (name->empty()) {
      if (response.workloads().empty()) context.Say("no agent has ever connected, so nothing is known yet");
      return context.Print(response, WorkloadsTable(response));
    }
    std::vector<std::string> names;
    for (const v1::OfferedWorkload& offered : response.workloads()) {
      names.push_back(offered.workload().name());
      if (offered.workload().name() == *name) {
        return context.Print(offered, WorkloadTables(offered), WorkloadCsv(offered));
      }
    }
    return context.Fail(NotThere("workload", *name, names));
  };
}

Action DeclareSuites(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("suite", *name, "show what this one holds");
  return [name](Context& context) {
    v1::ListSuitesResponse response;
    if (const absl::Status status = context.Ask(v1::ListSuitesRequest(), response); !status.ok()) {
      return context.Fail(status);
    }
    if (name->empty()) return context.Print(response, SuitesTable(response));
    std::vector<std::string> names;
    for (const v1::Suite& suite : response.suites()) {
      names.push_back(suite.name());
      if (suite.name() == *name) return context.Print(suite, SuiteEntriesTable(suite));
    }
    return context.Fail(NotThere("suite", *name, names));
  };
}

Action DeclareSuitesAdd(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  app.add_option("file", *path, "the suite in protobuf text format")->required();
  return [path](Context& context) {
    const absl::StatusOr<std::string> text = ReadFile(*path);
    if (!text.ok()) return context.Fail(text.status());
    v1::AddSuiteRequest request;
    request.set_file_name(CleanUtf8(*path));
    request.set_text(*text);
    v1::AddSuiteResponse response;
    if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
    return context.Print(response.suite(), SuiteEntriesTable(response.suite()));
  };
}

Action DeclareStatus(CLI::App&) {
  return [](Context& context) {
    v1::GetStatusResponse response;
    if (const absl::Status status = context.Ask(v1::GetStatusRequest(), response); !status.ok()) {
      return context.Fail(status);
    }
    Table table{.columns = {{.header = "collector"},
                            {.header = "version"},
                            {.header = "database"},
                            {.header = "agents connected", .align = Align::kRight}}};
    table.rows.push_back({Cell::Text(response.collector_id()), Cell::Text(response.version()),
                          Cell::Text(response.database_up() ? "up" : "down: " + response.database_problem()),
                          Cell::Number(response.connected_agents(), Unit::kNone)});
    const int printed = context.Print(response, table);
    return printed != kExitOk ? printed : response.database_up() ? kExitOk : kExitFailed;
  };
}

}  // namespace fleetmark::cli
