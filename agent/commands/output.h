// How the local commands of fleetmark-agent print: data on stdout, everything else on stderr. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/render/output.h"
#include "common/render/table.h"
#include "common/usage/exit_code.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark::agent {

struct OutputOptions {
  OutputMode mode = OutputMode::kTable;
  UnitFamily units = UnitFamily::kDecimal;
  bool raw = false;  // CSV without the guard against spreadsheet formulas
};

// Prints the tables for people, `csv` or `message` for programs. Returns kExitOk, or kExitFailed with a line on stderr
// if stdout cannot be written; a reader that went away is no error.
int Print(const OutputOptions& options, const std::vector<Table>& tables, const Table& csv,
          const google::protobuf::Message& message);

// One line on stderr.
void Say(const std::string& message);

// One line on stderr, in JSON mode an {"error":...} document on stdout besides. Returns `exit_code`.
int Fail(const OutputOptions& options, const absl::Status& status, int exit_code);
// With the code of its kind: usage for bad arguments, nothing matched for unknown names.
int Fail(const OutputOptions& options, const absl::Status& status);

}  // namespace fleetmark::agent
