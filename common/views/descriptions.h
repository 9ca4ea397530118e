// Workloads and targets as the cli and the agent's local commands describe them. Pure functions.
#pragma once

#include <string>

#include "common/render/table.h"
#include "common/units/units.h"
#include "fleetmark/v1/inventory.pb.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark {

// A row per parameter: type, default, range, role, meaning.
Table ParameterTable(const v1::WorkloadDescriptor& workload);

// "size", "duration", "direct | cached"; and "identity" or "derived".
std::string DescribeType(const v1::ParameterDescriptor& parameter);
std::string DescribeRole(const v1::ParameterDescriptor& parameter);

// "bytes/s", "operations/s", "seconds": a unit in words, for people; programs get UnitName.
std::string DescribeUnit(Unit unit);

// "exactly 3", "at least 6, at most 15, 5 min"; "" without a rule.
std::string DescribeRule(const v1::RepetitionRule& rule);

// "vda1 > vda": the layers below the file system; "" if unknown.
std::string DescribeStack(const v1::Target& target);

// "vda (Electra 6G), vdb"; "" if unknown.
std::string DescribeDisks(const v1::Target& target);

}  // namespace fleetmark
