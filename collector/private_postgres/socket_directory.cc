#include "collector/private_postgres/socket_directory.h"

#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/private_postgres/data_directory.h"

namespace fleetmark::collector {
namespace {

// FNV-1a: names a directory, protects nothing.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

bool UsableForSocket(const std::string& directory) {
  constexpr char kLongestName[] = "/.s.PGSQL.5432.lock";
  return directory.size() + sizeof kLongestName <= sizeof(sockaddr_un{}.sun_path) &&
         directory.find(',') == std::string::npos;
}

absl::StatusOr<std::string> EnsureSocketDirectory(const std::string& state_directory,
                                                  const std::optional<Account>& account) {
  std::string directory = state_directory + "/postgres-socket";
  if (!UsableForSocket(directory)) {
    const std::string name = absl::StrFormat("%012x", Hash(state_directory) & 0xffffffffffff);
    const char* runtime = account.has_value() ? nullptr : std::getenv("XDG_RUNTIME_DIR");
    directory = runtime != nullptr && runtime[0] == '/' ? absl::StrCat(runtime, "/fleetmark-", name) : std::string();
    if (directory.empty() || !UsableForSocket(directory) || access(runtime, W_OK | X_OK) != 0) {
      directory = absl::StrCat("/tmp/fleetmark-", account.has_value() ? account->uid : geteuid(), "-", name);
    }
  }
  if (absl::Status status = EnsurePrivateDirectory(directory, account); !status.ok()) return status;
  return directory;
}

}  // namespace fleetmark::collector
