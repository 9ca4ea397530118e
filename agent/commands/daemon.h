// `fleetmark-agent start`, `join` and `reset-id`: this machine as a member of a fleet. Everything but the
// parsing; each returns the exit code.
#pragma once

#include <string>

#include "agent/commands/places.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::agent {

int StartDaemon(const Places& places, StopSignal& stop);

// `line` is what `fleetmark hosts invite` printed; `target` the directory of the default target ("": one in the state).
int Join(const Places& places, const std::string& line, const std::string& target);

int ResetId(const Places& places);

}  // namespace fleetmark::agent
