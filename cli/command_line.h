// The command line of `fleetmark`: parses it, runs the command that was chosen, returns the exit code.
#pragma once

#include "cli/commands/context.h"

namespace fleetmark::cli {

// `make_client` is how a command reaches the collector; tests give a fake.
int RunCommandLine(int argc, const char* const* argv, StopSignal& stop, Context::ClientFactory make_client);

}  // namespace fleetmark::cli
