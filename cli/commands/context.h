// What every command is given: the options that all commands share, the collector, and where output goes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/client/fleet_client.h"
#include "common/lifecycle/stop_signal.h"
#include "common/render/output.h"
#include "common/render/table.h"
#include "common/usage/exit_code.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark::cli {

struct SharedOptions {
  std::string output = "table";
  bool json = false;  // --json: alias of --output json
  std::string units = "decimal";
  bool raw = false;              // CSV without the guard against spreadsheet formulas
  std::string collector;         // host:port instead of the configured ones
  std::string config_directory;  // of the client's certificate; default $XDG_CONFIG_HOME/fleetmark
};

// Owned by main; one thread.
class Context {
 public:
  using ClientFactory = std::function<absl::StatusOr<std::unique_ptr<FleetClient>>(const SharedOptions&)>;
  Context(const SharedOptions& options, StopSignal& stop, ClientFactory make_client);

  // Connects at the first use.
  absl::StatusOr<FleetClient*> Client();

  OutputMode output() const;  // REQUIRES: the option was validated by the parser
  UnitFamily units() const;
  StopSignal& stop() { return stop_; }
  const SharedOptions& options() const { return options_; }
  const Terminal& err() const { return err_; }

  // Sends `request`, gets `response`.
  template <typename Request, typename Response>
  absl::Status Ask(const Request& request, Response& response) {
    absl::StatusOr<FleetClient*> client = Client();
    if (!client.ok()) return client.status();
    return (*client)->Call(request, response);
  }

  // Prints to stdout in the chosen mode: the tables for people, `csv` for programs, `message` as JSON. Returns the exit
  // code: kExitOk, or kExitFailed with a line on stderr if stdout cannot be written (a reader that went away is no
  // error).
  int Print(const google::protobuf::Message& message, const std::vector<Table>& tables, const Table& csv);
  int Print(const google::protobuf::Message& message, const Table& table) { return Print(message, {table}, table); }

  // One line on stderr, and in JSON mode an {"error":...} document on stdout. Returns the exit code of its kind.
  int Fail(const absl::Status& status);
  int Fail(const absl::Status& status, int exit_code);

  // A line for the person, on stderr.
  void Say(const std::string& text);

 private:
  int Write(const std::string& text);

  const SharedOptions& options_;
  StopSignal& stop_;
  ClientFactory make_client_;
  std::unique_ptr<FleetClient> client_;
  Terminal out_;
  Terminal err_;
};

}  // namespace fleetmark::cli
