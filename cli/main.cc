// fleetmark: the command line.
#include "cli/client/client_config.h"
#include "cli/client/grpc_fleet_client.h"
#include "cli/command_line.h"
#include "common/rpc/process.h"

namespace {

absl::StatusOr<std::unique_ptr<fleetmark::cli::FleetClient>> Connect(const fleetmark::cli::SharedOptions& options) {
  using namespace fleetmark::cli;
  absl::StatusOr<ClientSettings> settings =
      LoadClientSettings(options.config_directory.empty() ? DefaultConfigDirectory() : options.config_directory);
  if (!settings.ok()) return settings.status();
  if (!options.collector.empty()) settings->collectors = {options.collector};
  return MakeFleetClient(*std::move(settings));
}

}  // namespace

int main(int argc, char** argv) {
  fleetmark::StopSignal stop;
  fleetmark::StopOnSignals(stop);
  fleetmark::PrepareRpc(fleetmark::RpcLog::kSilent);
  const int code = fleetmark::cli::RunCommandLine(argc, argv, stop, Connect);
  fleetmark::AwaitRpcEnd();
  return code;
}
