#include "agent/commands/daemon.h"

#include <filesystem>
#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/agent.h"
#include "agent/config/agent_config.h"
#include "agent/join/join.h"
#include "agent/spool/sqlite_spool.h"
#include "common/lifecycle/directory_lock.h"
#include "common/pki/files.h"
#include "common/pki/identity.h"
#include "common/pki/tls_files.h"
#include "common/rpc/process.h"
#include "common/text/text.h"
#include "common/units/format.h"
#include "common/usage/exit_code.h"

namespace fleetmark::agent {
namespace {

std::string StateDirectory(const Places& places) {
  return places.state_directory.empty() ? DefaultStateDirectory() : places.state_directory;
}

std::string ConfigPath(const Places& places) {
  return places.config_path.empty() ? DefaultConfigPath() : places.config_path;
}

int Fail(const absl::Status& status) {
  std::cerr << "fleetmark-agent: " << EscapeForTerminal(std::string(status.message())) << "\n";
  return ExitCodeOf(status);
}

void ShowIdentity(const std::string& state_directory) {
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(IdentityFiles(state_directory));
  if (absl::IsNotFound(material.status())) {
    std::cout << "identity     none: this machine has joined no fleet\n";
    return;
  }
  if (!material.ok()) {
    std::cout << "identity     none: " << EscapeForTerminal(std::string(material.status().message())) << "\n";
    return;
  }
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(material->certificate_chain_pem);
  const absl::StatusOr<absl::Time> end = ExpiryOf(*material);
  std::cout << "identity     " << (identity.ok() ? identity->id : "cannot be read");
  if (end.ok()) {
    std::cout << ", certificate until " << absl::FormatTime("%Y-%m-%d", *end, absl::UTCTimeZone());
    if (*end < absl::Now()) std::cout << " (expired by this machine's clock)";
  }
  std::cout << "\n";
}

void ShowSpool(const std::string& path) {
  SqliteSpool::Options options;
  options.path = path;
  options.interrupt_running = false;
  SqliteSpool spool(options);
  const v1::AgentStatus status = spool.Status();
  std::cout << "spool        " << status.spooled_records() << " records, "
            << FormatQuantity(status.spool_bytes(), Unit::kBytes) << "\n";
  if (!status.refuses_tasks_because().empty()) {
    std::cout << "             no tasks would be taken: " << EscapeForTerminal(status.refuses_tasks_because()) << "\n";
  }
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
  options.state_directory = StateDirectory(places);
  const std::filesystem::path config(ConfigPath(places));
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
  const std::string state_directory = StateDirectory(places);
  const absl::Status status = ResetIdentity(state_directory);
  if (!status.ok()) return Fail(status);
  std::cout << "The identity in " << state_directory << " is forgotten; `fleetmark-agent join` makes a new one.\n";
  return kExitOk;
}

int ShowStatus(const Places& places) {
  const std::string state_directory = StateDirectory(places);
  const std::string config_path = ConfigPath(places);
  std::cout << "state        " << state_directory << "\n";
  ShowIdentity(state_directory);
  const absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(config_path);
  std::cout << "config       " << config_path << "\n";
  if (config.ok()) {
    for (const std::string& collector : config->collectors()) {
      std::cout << "collector    " << EscapeForTerminal(collector) << "\n";
    }
    for (const v1::TargetConfig& target : config->targets()) {
      std::cout << "target       " << EscapeForTerminal(target.name()) << ": " << EscapeForTerminal(target.path())
                << (target.is_default() ? " (default)" : "") << "\n";
    }
  } else {
    std::cout << "             " << EscapeForTerminal(std::string(config.status().message())) << "\n";
  }
  if (!FileExists(state_directory)) {
    std::cout << "agent        not running; first type the line of `fleetmark hosts invite` here: it joins a fleet\n";
    return kExitFailed;
  }
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(state_directory);
  if (absl::IsFailedPrecondition(lock.status())) {
    const absl::StatusOr<std::string> pid = ReadSmallFile(state_directory + "/lock");
    std::cout << "agent        running, process " << EscapeForTerminal(pid.ok() ? pid->substr(0, pid->find('\n')) : "?")
              << "\n";
    return kExitOk;
  }
  const bool joined = FileExists(IdentityFiles(state_directory).certificate_file);
  std::cout << "agent        not running; "
            << (joined ? "start it with: fleetmark-agent start\n"
                       : "first type the line of `fleetmark hosts invite` here: it joins a fleet\n");
  const std::string spool = state_directory + "/spool.db";
  if (lock.ok() && FileExists(spool)) ShowSpool(spool);
  return kExitFailed;
}

}  // namespace fleetmark::agent
