// Whether an address can be listened on, asked before gRPC is, whose own answer is "no".
#pragma once

#include <string>

#include "absl/status/status.h"

namespace fleetmark::collector {

// `address` as ParseAddress takes it; `option` is what the user sets it with ("--listen"). ALREADY_EXISTS: the port is
// in use; FAILED_PRECONDITION: the address is not this machine's, or the system refuses for another reason.
absl::Status ProbeListen(const std::string& address, unsigned default_port, const std::string& option);

}  // namespace fleetmark::collector
