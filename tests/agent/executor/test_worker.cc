// The worker process of the tests: as fleetmark-agent's, with the tests' own table.
#include "agent/worker/worker.h"
#include "tests/agent/executor/test_workloads.h"

int main() {
  return fleetmark::agent::RunWorker(fleetmark::agent::kWorkerControlFd, fleetmark::agent::kWorkerEventFd,
                                     fleetmark::agent::TestWorkloads());
}
