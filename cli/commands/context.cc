#include "cli/commands/context.h"

#include <unistd.h>

#include "common/proto_json/proto_json.h"
#include "common/render/json.h"
#include "common/text/text.h"

namespace fleetmark::cli {

Context::Context(const SharedOptions& options, StopSignal& stop, ClientFactory make_client)
    : options_(options),
      stop_(stop),
      make_client_(std::move(make_client)),
      out_(DescribeTerminal(STDOUT_FILENO)),
      err_(DescribeTerminal(STDERR_FILENO)) {}

absl::StatusOr<FleetClient*> Context::Client() {
  if (client_ == nullptr) {
    absl::StatusOr<std::unique_ptr<FleetClient>> client = make_client_(options_);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
  }
  return client_.get();
}

OutputMode Context::output() const {
  if (options_.json) return OutputMode::kJson;
  return OutputModeFromName(options_.output).value_or(OutputMode::kTable);
}

UnitFamily Context::units() const { return UnitFamilyFromName(options_.units).value_or(UnitFamily::kDecimal); }

int Context::Print(const google::protobuf::Message& message, const std::vector<Table>& tables, const Table& csv) {
  switch (output()) {
    case OutputMode::kJson: {
      const absl::StatusOr<std::string> json = RenderProtoJson(message);
      return json.ok() ? Write(*json) : Fail(json.status());
    }
    case OutputMode::kCsv:
      return Write(RenderCsv(csv, CsvOptions{.raw = options_.raw}));
    case OutputMode::kTable:
      break;
  }
  std::string text;
  for (const Table& table : tables) {
    if (!text.empty()) text += '\n';
    text += RenderTable(table, RenderOptionsFor(out_, units()));
  }
  return Write(text);
}

int Context::Write(const std::string& text) {
  const absl::Status status = WriteStdout(text);
  if (status.ok() || absl::IsCancelled(status)) return kExitOk;
  Say("fleetmark: cannot write the result to standard output: " + std::string(status.message()));
  return kExitFailed;
}

int Context::Fail(const absl::Status& status) { return Fail(status, ExitCodeOf(status)); }

int Context::Fail(const absl::Status& status, int exit_code) {
  if (output() == OutputMode::kJson) Write(RenderJsonError(status, exit_code));
  const std::string message(status.message());
  Say("fleetmark: " + EscapeForTerminal(message.empty() ? status.ToString() : message));
  return exit_code;
}

void Context::Say(const std::string& text) {
  [[maybe_unused]] const absl::Status status = WriteAll(STDERR_FILENO, text + "\n");
}

}  // namespace fleetmark::cli
