// postmaster.pid: what a postmaster says of itself, and what to do about one that was left behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetmark::collector {

struct PostmasterPid {
  pid_t pid = 0;
  std::string data_directory;
  bool ready = false;  // its eighth line: it accepts connections
};

std::optional<PostmasterPid> ParsePostmasterPid(std::string_view text);
std::optional<PostmasterPid> ReadPostmasterPid(const std::string& data_directory);

// Ends a postmaster that a collector before us left behind in `data_directory` (asks it to stop fast, then at once,
// then kills it). Does nothing if the file is stale: no such process, or one that is not a postmaster of this
// directory. Returns whether there was one. REQUIRES: the caller holds the lock of the state directory.
absl::StatusOr<bool> StopOrphan(const std::string& data_directory, absl::Duration patience);

}  // namespace fleetmark::collector
