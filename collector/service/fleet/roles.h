// Who may call what: one table. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/service/peer/peer.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

struct Caller {
  std::string name;  // for rows and the audit trail
  v1::Role role = v1::ROLE_UNSPECIFIED;
};

// PERMISSION_DENIED: not a person.
absl::StatusOr<Caller> CallerOf(const Peer& peer);

// PERMISSION_DENIED names both roles. A method that is not in the table is nobody's.
absl::Status CheckRole(const Caller& caller, std::string_view method);

}  // namespace fleetmark::collector
