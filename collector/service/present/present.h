// What the rows say, in words for people: why a task waits, what a host is doing. Pure functions; only what is not said
// already is added.
#pragma once

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

void DescribeHost(v1::Host& host);
void DescribeRun(v1::Run& run);

}  // namespace fleetmark::collector
