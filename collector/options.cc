#include "collector/options.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/config/text_proto.h"
#include "common/text/text.h"
#include "common/units/parse.h"
#include "fleetmark/v1/config.pb.h"

namespace fleetmark::collector {
namespace {

// $`variable`, or the default below the home directory; relative values do not count.
std::string XdgDirectory(const char* variable, const char* below_home) {
  if (const char* value = std::getenv(variable); value != nullptr && value[0] == '/') return value;
  const char* home = std::getenv("HOME");
  return absl::StrCat(home != nullptr && home[0] == '/' ? home : "/nonexistent", "/", below_home);
}

// What agent.proto allows; below the least, the message costs more than what it carries.
constexpr int64_t kLeastBatch = 1 << 10, kMostBatch = 1 << 20;

bool HoldsPassword(const std::string& dsn) { return RedactDsn(dsn) != dsn; }

absl::StatusOr<std::string> Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.message()));
  return absolute.lexically_normal().string();
}

}  // namespace

std::string DefaultStateDirectory() {
  if (geteuid() == 0) return "/var/lib/fleetmark/collector";
  return XdgDirectory("XDG_STATE_HOME", ".local/state") + "/fleetmark/collector";
}

std::string DefaultConfigDirectory() {
  if (geteuid() == 0) return "/etc/fleetmark";
  return XdgDirectory("XDG_CONFIG_HOME", ".config") + "/fleetmark";
}

absl::StatusOr<CollectorOptions> MakeOptions(const Flags& flags, const std::string& version) {
  v1::CollectorConfig config;
  if (!flags.config_file.empty()) {
    if (const absl::Status loaded = LoadTextProto(flags.config_file, config); !loaded.ok()) return loaded;
  }
  CollectorOptions options;
  options.version = version;
  if (!config.listen().empty()) options.listen = config.listen();
  if (!config.enroll_listen().empty()) options.enroll_listen = config.enroll_listen();
  options.database = config.database();
  options.advertise = {config.advertise().begin(), config.advertise().end()};
  if (flags.listen) options.listen = *flags.listen;
  if (flags.enroll_listen) options.enroll_listen = *flags.enroll_listen;
  if (!flags.advertise.empty()) options.advertise = flags.advertise;
  if (flags.database) options.database = *flags.database;
  const std::string largest_batch = flags.largest_batch.value_or(config.largest_batch());
  if (flags.largest_batch || !config.largest_batch().empty()) {
    const absl::StatusOr<int64_t> bytes = ParseWholeQuantity(largest_batch, Unit::kBytes);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--largest-batch: ", std::string(bytes.status().message())));
    }
    if (*bytes < kLeastBatch || *bytes > kMostBatch) {
      return absl::InvalidArgumentError(absl::StrCat("--largest-batch ", largest_batch, ": must be from 1KiB to 1MiB"));
    }
    options.largest_batch_bytes = static_cast<uint32_t>(*bytes);
  }
  if (HoldsPassword(options.database)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--database ", RedactDsn(options.database),
        ": a password in there can be read by others; put it into ~/.pgpass (or the file PGPASSFILE names), "
        "or a service file (--database service=NAME)"));
  }
  absl::StatusOr<std::string> state =
      Absolute(flags.state_directory.empty() ? DefaultStateDirectory() : flags.state_directory);
  if (!state.ok()) return state.status();
  options.state_directory = *state;
  absl::StatusOr<std::string> config_directory =
      Absolute(flags.config_directory.empty() ? DefaultConfigDirectory() : flags.config_directory);
  if (!config_directory.ok()) return config_directory.status();
  options.config_directory = *config_directory;
  return options;
}

}  // namespace fleetmark::collector
