// From flags, configuration file and environment to CollectorOptions. Reads files, starts nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/collector.h"

namespace fleetmark::collector {

// What the command line said; absent: it did not.
struct Flags {
  std::string config_file;
  std::string state_directory;
  std::string config_directory;
  std::optional<std::string> listen, enroll_listen, database;
  std::vector<std::string> advertise;
};

// $XDG_STATE_HOME/fleetmark/collector, or /var/lib/fleetmark/collector for root.
std::string DefaultStateDirectory();
// $XDG_CONFIG_HOME/fleetmark, or /etc/fleetmark for root.
std::string DefaultConfigDirectory();

// INVALID_ARGUMENT: a path that is not absolute, a password on the command line (every user of the machine can read it
// there), a configuration file with an error in it (file:line:column). PERMISSION_DENIED: a configuration file with a
// password that others may read.
absl::StatusOr<CollectorOptions> MakeOptions(const Flags& flags, const std::string& version);

}  // namespace fleetmark::collector
