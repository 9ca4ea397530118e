// Follows a run to its end: live lines on stderr, then its results on stdout.
#pragma once

#include <cstdint>

#include "cli/commands/context.h"

namespace fleetmark::cli {

enum class CtrlC {
  kCancelsRun,     // the first cancels it on every host and waits for that; the second leaves at once
  kStopsWatching,  // the run goes on
};

// A collector that goes away is waited for (up to 2 minutes): the run goes on without it. Returns kExitOk if the run
// succeeded, kExitFailed if it failed or is partial, kExitInterrupted, kExitUnreachable.
int FollowRun(Context& context, int64_t run_id, CtrlC ctrl_c);

}  // namespace fleetmark::cli
