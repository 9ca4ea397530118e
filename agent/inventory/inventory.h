// Takes the inventory of this machine: everything the agent knows, each fact optional. May take up to a few seconds
// (bounded per target); call it from a thread that may wait, and not inside a timed section.
#pragma once

#include <string>

#include "fleetmark/v1/config.pb.h"
#include "fleetmark/v1/inventory.pb.h"

namespace fleetmark::agent {

v1::Inventory TakeInventory(const v1::AgentConfig& config, const std::string& root = "");

// What this build of the measuring code is: "g++ 12.2.0 -O2 x86_64-baseline".
std::string BuildIdentity();

// True if the two differ in something a comparison would want to know (not in free space or time).
bool DiffersInSubstance(const v1::Inventory& a, const v1::Inventory& b);

}  // namespace fleetmark::agent
