// SuiteCatalog: the suites there are: those shipped with this collector, and those that users added.
//
// Owned by the collector. Thread-safe; all but Shipped() block on the database.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/trust_store.h"

namespace fleetmark::collector {

class SuiteCatalog {
 public:
  explicit SuiteCatalog(SuiteStore& store);

  const std::vector<v1::Suite>& Shipped() const { return shipped_; }

  // Shipped ones first; the newest version of each name.
  absl::StatusOr<std::vector<v1::Suite>> List();

  // By name; a workload's name is a suite of that one workload with its defaults. `name` may end in "@VERSION".
  // NOT_FOUND names the nearest.
  absl::StatusOr<v1::Suite> Find(const std::string& name, const std::vector<v1::WorkloadDescriptor>& workloads);

  // ALREADY_EXISTS: the name of a shipped suite, or another text under a version that there is already.
  absl::StatusOr<v1::Suite> Add(const std::string& text, const std::string& file_name,
                                const std::vector<v1::WorkloadDescriptor>& workloads, const std::string& who);

 private:
  SuiteStore& store_;
  std::vector<v1::Suite> shipped_;  // constant after construction
};

}  // namespace fleetmark::collector
