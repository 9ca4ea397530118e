#include "collector/service/server/port_probe.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/rpc/address.h"

namespace fleetmark::collector {

absl::Status ProbeListen(const std::string& address, unsigned default_port, const std::string& option) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, static_cast<uint16_t>(default_port));
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, " ", address, ": ", std::string(parsed.status().message())));
  }
  if (parsed->port == 0) return absl::OkStatus();
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int looked = getaddrinfo(parsed->host.c_str(), absl::StrCat(parsed->port).c_str(), &hints, &found);
  if (looked != 0) {
    return absl::FailedPreconditionError(absl::StrCat(option, " ", address, ": no such address (", gai_strerror(looked),
                                                      "); give HOST:PORT with an address of this machine, as in ",
                                                      option, " 127.0.0.1:", default_port));
  }
  absl::Status status;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {  // no IPv6 on this machine: gRPC finds its way from [::] to 0.0.0.0
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0) {
      const int error = errno;
      status =
          error == EADDRINUSE
              ? absl::AlreadyExistsError(absl::StrCat("port ", parsed->port, " is in use on ", parsed->host,
                                                      " by another program (another fleetmark-collector?); stop it, "
                                                      "or choose another with ",
                                                      option, " HOST:PORT"))
              : absl::FailedPreconditionError(absl::StrCat("listen on ", ToString(*parsed), ": ", std::strerror(error),
                                                           "; choose another address with ", option, " HOST:PORT"));
    }
    close(fd);
  }
  freeaddrinfo(found);
  return status;
}

}  // namespace fleetmark::collector
