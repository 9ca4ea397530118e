// Where the cli finds its certificate and its collectors: <config>/client.textproto, which a collector writes for the
// local user and `fleetmark login` for others.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/pki/tls_files.h"

namespace fleetmark::cli {

struct ClientSettings {
  std::vector<std::string> collectors;
  TlsMaterial material;
};

// $XDG_CONFIG_HOME/fleetmark, or /etc/fleetmark for root.
std::string DefaultConfigDirectory();

// The files of a person's identity in `directory`.
TlsFiles PersonFiles(const std::string& directory);

// NOT_FOUND: nothing there yet, with what makes it. Other errors name file, line and reason. Relative file names in the
// configuration are relative to `directory`.
absl::StatusOr<ClientSettings> LoadClientSettings(const std::string& directory);

// Writes client.textproto for PersonFiles(directory) and `collectors`.
absl::Status WriteClientConfig(const std::string& directory, const std::vector<std::string>& collectors);

}  // namespace fleetmark::cli
