// `fleetmark-agent status`: this machine as a member of a fleet, from its files alone.
#pragma once

#include <vector>

#include "agent/commands/output.h"
#include "agent/commands/places.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

// What cannot be read says so in the message; never fails. While no agent runs it opens the spool.
v1::LocalStatus ReadLocalStatus(const Places& places);

Table StatusTable(const v1::LocalStatus& status);
Table StatusCsv(const v1::LocalStatus& status);

// kExitOk if an agent runs, kExitFailed if not or if that cannot be told.
int ShowStatus(const Places& places, const OutputOptions& output);

}  // namespace fleetmark::agent
