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
  std::optional<std::string> listen, enroll_listen, database, largest_batch;
  std::vector<std::string> advertise;
};

// $XDG_STATE_HOME/fleetmark/collector, or /var/lib/fleetmark/collector for root.
std::string DefaultStateDirectory();
// $XDG_CONFIG_HOME/fleetmark, or /etc/fleetmark for root.
std::string DefaultConfigDirectory();

// INVALID_ARGUMENT: a password in the database's name (every user of the machine can read a command line), a
// configuration file with an error in it (file:line:column).
absl::StatusOr<CollectorOptions> MakeOptions(const Flags& flags, const std::string& version);

}  // namespace fleetmark::collector
