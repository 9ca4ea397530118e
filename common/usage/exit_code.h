// The exit codes of the three programs, as README.md lists them.
#pragma once

#include "absl/status/status.h"

namespace fleetmark {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;
inline constexpr int kExitNothingMatched = 4;
inline constexpr int kExitInterrupted = 130;

// The code of its kind for an error.
int ExitCodeOf(const absl::Status& status);

}  // namespace fleetmark
