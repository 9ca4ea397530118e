// The command line of fleetmark-collector: parses it, runs the subcommand, returns the exit code (0 stopped as asked,
// 1 failed, 2 usage).
#pragma once

#include "common/lifecycle/stop_signal.h"

namespace fleetmark::collector {

int RunCommandLine(int argc, const char* const* argv, StopSignal& stop);

}  // namespace fleetmark::collector
