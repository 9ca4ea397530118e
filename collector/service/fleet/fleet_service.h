// FleetService on its edge: who calls, may they, off to a worker thread, and the answer back. What the calls mean is
// FleetApi's affair.
#pragma once

#include "collector/service/dispatch/sharded_workers.h"
#include "collector/service/fleet/fleet_api.h"
#include "collector/service/server/service_pointer.h"
#include "collector/service/watch/watch_hub.h"
#include "collector/store/trust_store.h"

namespace fleetmark::collector {

ServicePointer MakeFleetService(FleetApi& api, WatchHub& watches, TrustStore& trust, ShardedWorkers& workers);

}  // namespace fleetmark::collector
