// From results to one table: metrics x columns, where a column is a disk of a host (and a run, where several runs are
// compared). Pure functions; nothing here knows a database or a wire.
//
// Values stand in one row only if workload, version, metric and all identity parameters are equal. What follows from
// the machine (derived parameters) is noted, never forbids a comparison. What was skipped, failed or flagged is said,
// never left out silently.
#pragma once

#include <string>
#include <vector>

#include "collector/store/result_store.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

struct AskedHost {
  HostId id;
  std::string name;
};

struct ComparisonOptions {
  std::vector<AskedHost> hosts;                   // asked for by name: a column each, in this order, also if empty
  std::vector<RunId> runs;                        // asked for by number; two or more: columns are split by run
  std::vector<v1::TargetChoice> targets;          // only these targets; host "" means every host. Names, not ids
  std::vector<v1::WorkloadDescriptor> workloads;  // to tell which parameters are not the default
  bool force = false;                             // differing identity parameters share a row
};

v1::CompareResponse CompareResults(const ResultSet& results, const ComparisonOptions& options);

}  // namespace fleetmark::collector
