#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_format.h"
#include "agent/engine/io_engine.h"

namespace fleetmark::agent {

absl::Status IoErrorStatus(int error, std::string_view what) {
  const char* symbol = strerrorname_np(error);
  const std::string message = absl::StrFormat("%s: %s (%s)", std::string(what),
                                              strerrordesc_np(error) != nullptr ? strerrordesc_np(error) : "?",
                                              symbol != nullptr ? symbol : "?");
  switch (error) {
    case EIO:
      return absl::DataLossError(message);
    case EROFS:
      return absl::FailedPreconditionError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::Status(absl::ErrnoToStatusCode(error), message);
  }
}

}  // namespace fleetmark::agent
