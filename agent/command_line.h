// The command line of `fleetmark-agent`: parses it, runs the command that was chosen, returns the exit code.
#pragma once

#include "common/lifecycle/stop_signal.h"

namespace fleetmark::agent {

int RunCommandLine(int argc, const char* const* argv, StopSignal& stop);

}  // namespace fleetmark::agent
