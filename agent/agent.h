// The agent as a daemon: everything of it, put together. `fleetmark-agent start` is one call of this.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/lifecycle/stop_signal.h"
#include "common/time/backoff.h"

namespace fleetmark::agent {

struct AgentOptions {
  std::string state_directory;  // "": the default place
  std::string config_path;      // "": the default place
  std::string worker_program;   // "": this program's own image (see RememberOwnImage)
  Backoff::Options backoff;     // between two tries to reach a collector
};

// Runs until `stop`, then ends what runs within 5 s: a running task is reported as interrupted, its scratch is gone.
// Returns the exit code: 0 after a stop, 1 with one line in the log that says what is wrong (no identity, a
// configuration that cannot be read, another agent on the same state directory).
int RunAgent(const AgentOptions& options, StopSignal& stop);

}  // namespace fleetmark::agent
