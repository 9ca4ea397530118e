#include "agent/commands/output.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/proto_json/proto_json.h"
#include "common/render/json.h"
#include "common/text/text.h"

namespace fleetmark::agent {
void Say(const std::string& message) {
  WriteAll(STDERR_FILENO, absl::StrCat("fleetmark-agent: ", EscapeForTerminal(CleanUtf8(message)), "\n")).IgnoreError();
}

int Print(const OutputOptions& options, const std::vector<Table>& tables, const Table& csv,
          const google::protobuf::Message& message) {
  std::string text;
  if (options.mode == OutputMode::kJson) {
    const absl::StatusOr<std::string> json = RenderProtoJson(message);
    if (!json.ok()) return Fail(options, json.status(), kExitFailed);
    text = *json;
  } else if (options.mode == OutputMode::kCsv) {
    text = RenderCsv(csv, {options.raw});
  } else {
    const RenderOptions render = RenderOptionsFor(DescribeTerminal(STDOUT_FILENO), options.units);
    for (const Table& table : tables) {
      if (!text.empty()) text += "\n";
      text += RenderTable(table, render);
    }
  }
  const absl::Status written = WriteStdout(text);
  if (written.ok() || absl::IsCancelled(written)) return kExitOk;
  Say(std::string(written.message()));
  return kExitFailed;
}

int Fail(const OutputOptions& options, const absl::Status& status, int exit_code) {
  if (options.mode == OutputMode::kJson) WriteStdout(RenderJsonError(status, exit_code)).IgnoreError();
  Say(std::string(status.message()));
  return exit_code;
}

int Fail(const OutputOptions& options, const absl::Status& status) { return Fail(options, status, ExitCodeOf(status)); }

}  // namespace fleetmark::agent
