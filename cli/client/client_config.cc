#include "cli/client/client_config.h"

#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <cstdlib>

#include "common/config/text_proto.h"
#include "common/pki/files.h"
#include "fleetmark/v1/config.pb.h"

namespace fleetmark::cli {
namespace {

std::string Absolute(const std::string& directory, const std::string& file, const char* otherwise) {
  const std::string& name = file.empty() ? otherwise : file;
  return name[0] == '/' ? name : directory + "/" + name;
}

}  // namespace

std::string DefaultConfigDirectory() {
  if (getuid() == 0) return "/etc/fleetmark";
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg != nullptr && xdg[0] == '/') {
    return std::string(xdg) + "/fleetmark";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/" : home) + "/.config/fleetmark";
}

TlsFiles PersonFiles(const std::string& directory) {
  return {directory + "/ca.pem", directory + "/client.pem", directory + "/client.key"};
}

absl::StatusOr<ClientSettings> LoadClientSettings(const std::string& directory) {
  const std::string path = directory + "/client.textproto";
  v1::ClientConfig config;
  if (const absl::Status status = LoadTextProto(path, config); !status.ok()) {
    if (!absl::IsNotFound(status)) return status;
    return absl::UnavailableError("no collector is known here (" + path +
                                  " is missing): start one on this machine (./deploy/up, or fleetmark-collector), or "
                                  "use a fleet from elsewhere (fleetmark login LINE)");
  }
  const TlsFiles defaults = PersonFiles(directory);
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial({
      Absolute(directory, config.ca_file(), defaults.ca_file.c_str()),
      Absolute(directory, config.certificate_file(), defaults.certificate_file.c_str()),
      Absolute(directory, config.key_file(), defaults.key_file.c_str()),
  });
  if (!material.ok()) return material.status();
  ClientSettings settings{{config.collectors().begin(), config.collectors().end()}, *material};
  if (settings.collectors.empty())
    return absl::FailedPreconditionError(path + " names no collector; add: collectors: \"host:7401\"");
  return settings;
}

absl::Status WriteClientConfig(const std::string& directory, const std::vector<std::string>& collectors) {
  v1::ClientConfig config;
  config.mutable_collectors()->Assign(collectors.begin(), collectors.end());
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return ReplaceFile(directory + "/client.textproto", text, 0600);
}

}  // namespace fleetmark::cli
