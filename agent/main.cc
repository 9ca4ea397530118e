// fleetmark-agent: measures this machine. As `fleetmark-agent worker` it is the process that does it (see
// agent/worker).
#include <string_view>

#include "agent/command_line.h"
#include "agent/executor/own_image.h"
#include "agent/worker/worker.h"
#include "common/rpc/process.h"

int main(int argc, char** argv) {
  using namespace fleetmark::agent;
  if (argc > 1 && std::string_view(argv[1]) == kWorkerArgument) {
    return RunWorker(kWorkerControlFd, kWorkerEventFd, WorkloadTable());
  }
  RememberOwnImage();
  fleetmark::StopSignal stop;
  fleetmark::StopOnSignals(stop);
  const int code = RunCommandLine(argc, argv, stop);
  fleetmark::AwaitRpcEnd();
  return code;
}
