// `fleetmark-agent run`: measures here and now, without any collector.
#pragma once

#include <string>
#include <vector>

#include "agent/commands/output.h"
#include "agent/workloads/workload.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::agent {

struct RunOptions {
  std::vector<std::string> workloads;  // in this order
  std::string target;                  // a directory, or the name of a configured target; "": the default target
  std::vector<std::string> set;        // "size=2GiB", "disk.profile.size=2GiB"
  unsigned repeat = 0;                 // 0: each workload's own rule
  double quiet_wait_seconds = 5;
  std::string config_path;      // "": the default place, which may be empty
  std::string state_directory;  // "": the default place
  OutputOptions output;
};

// Everything but the parsing. `stop` ends it cleanly (exit code 130). `table` and `worker_program` are for tests.
int RunHere(RunOptions options, StopSignal& stop, const std::vector<WorkloadEntry>& table = WorkloadTable(),
            const std::string& worker_program = "");

}  // namespace fleetmark::agent
