// fleetmark-collector: see --help.
#include "collector/command_line.h"
#include "common/lifecycle/stop_signal.h"
#include "common/rpc/process.h"

int main(int argc, char** argv) {
  fleetmark::TuneMallocForRpc();
  fleetmark::PrepareRpc(fleetmark::RpcLog::kErrors);
  static fleetmark::StopSignal stop;
  fleetmark::StopOnSignals(stop);
  const int code = fleetmark::collector::RunCommandLine(argc, argv, stop);
  fleetmark::AwaitRpcEnd();
  return code;
}
