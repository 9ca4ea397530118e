// From what a user asked for to the rows of a run. Pure functions: all they need to know of the fleet is handed in.
//
// Anything misspelt anywhere is an error before anything is created; what cannot run on one host becomes a task with
// its reason, and the others go on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/run_store.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

struct HostToRun {
  v1::Host host;                                  // with its inventory
  std::vector<v1::WorkloadDescriptor> workloads;  // what its agent offers
};

struct RunPlan {
  NewRun run;
  std::vector<std::string> warnings;  // "thinkpad is not connected: its tasks wait for it, at most ..."
};

// The detail that a NOT_FOUND carries when nothing was misspelt, but no host, or no target, matched.
inline constexpr char kNothingMatched[] = "nothing matched: ";

// `hosts`: the ones chosen, in order. `fleet_workloads`: every descriptor any agent offers, for names and parameters
// that some host does not know. NOT_FOUND: an unknown target. INVALID_ARGUMENT: a parameter's name or value.
absl::StatusOr<RunPlan> BuildRun(const v1::CreateRunRequest& request, const v1::Suite& suite,
                                 const std::vector<HostToRun>& hosts,
                                 const std::vector<v1::WorkloadDescriptor>& fleet_workloads, const std::string& who);

}  // namespace fleetmark::collector
