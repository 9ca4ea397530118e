// FleetService on its edge: who calls, may they, off to a worker thread, and the answer back. What the calls mean is
// FleetApi's affair.
#pragma once

#include <memory>

#include "collector/service/dispatch/sharded_workers.h"
#include "collector/service/fleet/fleet_api.h"
#include "collector/service/watch/watch_hub.h"
#include "collector/store/trust_store.h"

namespace grpc {
class Service;
}

namespace fleetmark::collector {

std::unique_ptr<grpc::Service> MakeFleetService(FleetApi& api, WatchHub& watches, TrustStore& trust,
                                                ShardedWorkers& workers);

}  // namespace fleetmark::collector
