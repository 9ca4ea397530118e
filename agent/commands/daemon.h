// `fleetmark-agent start`, `join`, `reset-id` and `status`: this machine as a member of a fleet. Everything but the
// parsing; each returns the exit code.
#pragma once

#include <string>

#include "common/lifecycle/stop_signal.h"

namespace fleetmark::agent {

// Where things lie; "": the default places.
struct Places {
  std::string config_path;
  std::string state_directory;
};

int StartDaemon(const Places& places, StopSignal& stop);

// `line` is what `fleetmark hosts invite` printed; `target` the directory of the default target ("": one in the state).
int Join(const Places& places, const std::string& line, const std::string& target);

int ResetId(const Places& places);

// Who this machine is in the fleet, whether an agent runs, what waits in its spool.
int ShowStatus(const Places& places);

}  // namespace fleetmark::agent
