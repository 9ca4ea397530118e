// A FleetClient over gRPC: dials the configured collectors in turn and stays with the first that answers.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/client/client_config.h"
#include "cli/client/fleet_client.h"

namespace fleetmark::cli {

// Nothing is dialled yet. FAILED_PRECONDITION: the certificate has expired by the local clock.
absl::StatusOr<std::unique_ptr<FleetClient>> MakeFleetClient(ClientSettings settings,
                                                             absl::Duration deadline = absl::Seconds(30));

}  // namespace fleetmark::cli
