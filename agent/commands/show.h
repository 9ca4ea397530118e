// `fleetmark-agent inventory` and `fleetmark-agent workloads`: what it knows of this machine, what it can measure.
#pragma once

#include <string>
#include <vector>

#include "agent/commands/output.h"
#include "agent/workloads/workload.h"
#include "fleetmark/v1/inventory.pb.h"

namespace fleetmark::agent {

// `config_path` "": the default place, which may be empty.
int ShowInventory(const std::string& config_path, const OutputOptions& output);
int ShowWorkloads(const OutputOptions& output, const std::vector<WorkloadEntry>& table = WorkloadTable());

// Pure, for tests.
std::vector<Table> InventoryTables(const v1::Inventory& inventory);
Table InventoryCsv(const v1::Inventory& inventory);
std::vector<Table> WorkloadTables(const std::vector<WorkloadEntry>& table);

}  // namespace fleetmark::agent
