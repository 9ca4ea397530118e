#include "agent/commands/daemon.h"

#include <filesystem>
#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "agent/config/agent_config.h"
#include "agent/join/join.h"
#include "common/rpc/process.h"
#include "common/text/text.h"
#include "common/usage/exit_code.h"

namespace fleetmark::agent {
namespace {

int Fail(const absl::Status& status) {
  std::cerr << "fleetmark-agent: " << EscapeForTerminal(std::string(status.message())) << "\n";
  return ExitCodeOf(status);
}

}  // namespace

int StartDaemon(const Places& places, StopSignal& stop) {
  AgentOptions options;
  options.config_path = places.config_path;
  options.state_directory = places.state_directory;
  return RunAgent(options, stop);
}

int Join(const Places& places, const std::string& line, const std::string& target) {
  PrepareRpc(RpcLog::kSilent);
  JoinOptions options;
  options.line = line;
  options.state_directory = places.State();
  const std::filesystem::path config(places.Config());
  if (config.filename() != kAgentConfigFile) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("--config ", config.string(), ": join writes a file named ", kAgentConfigFile)));
  }
  options.config_directory = config.parent_path().string();
  options.target_path = target;
  const absl::StatusOr<Joined> joined = JoinFleet(options);
  if (!joined.ok()) return Fail(joined.status());
  std::cout << DescribeJoin(*joined);
  return kExitOk;
}

int ResetId(const Places& places) {
  const std::string state_directory = places.State();
  const absl::Status status = ResetIdentity(state_directory);
  if (!status.ok()) return Fail(status);
  std::cout << "The identity in " << state_directory << " is forgotten; `fleetmark-agent join` makes a new one.\n";
  return kExitOk;
}

}  // namespace fleetmark::agent
