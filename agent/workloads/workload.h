// What a workload is: a named, versioned measurement that declares itself as data (a WorkloadDescriptor) and does one
// repetition at a time. It knows nothing of gRPC, wall clocks, repetition counts, deadlines or cancel commands: the
// worker's loop owns those.
//
// Life, all on the worker's main thread:  Prepare  ->  RunOnce (warm-ups, then repetitions)  ->  Cleanup (always, also
// after an error or a cancel).  Threads that a workload starts are joined before RunOnce returns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleetmark/v1/result.pb.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark::agent {

// "Cannot be measured here, and that is nobody's fault": no space, no permission, not on this system. The executor
// reports it as skipped with this text. Every other error is a failure. absl::StatusCode::kCancelled is a cancel.
absl::Status SkippedError(const std::string& reason);
bool IsSkipped(const absl::Status& status);

// What a workload is given. Owned by the worker's loop; outlives the workload.
class WorkContext {
 public:
  virtual ~WorkContext() = default;

  // Validated parameters, defaults filled in; derived ones only if the user fixed them.
  virtual const std::map<std::string, v1::ParameterValue>& parameters() const = 0;
  double Number(const std::string& name) const;  // REQUIRES: declared, of a numeric type, present
  bool Flag(const std::string& name) const;
  const std::string& Text(const std::string& name) const;

  // The target's path as configured, and the task's own scratch directory below it (made by the loop before Prepare,
  // removed after Cleanup). Empty for workloads without a target, and scratch_directory for those that do not write.
  virtual const std::string& target_path() const = 0;
  virtual const std::string& scratch_directory() const = 0;

  // Fails with the numbers unless `bytes` and the reserve are free on the target, and under the agent's ceiling.
  // Call before the first byte. Skipped (see SkippedError) when there is too little room.
  virtual absl::Status CheckRoomFor(uint64_t bytes) const = 0;

  // What the configuration allows, at least 1; it may be more than there are CPUs.
  virtual unsigned max_threads() const = 0;
  virtual bool allow_cache_drop() const = 0;

  // True once the task is to end. Poll at least every 100 ms, outside or at the edge of the innermost loop, and return
  // absl::CancelledError(); also readable as an atomic for timed loops.
  virtual bool cancelled() const = 0;

  // For the person who waits. Cheap (a store when called more often than 5 times a second); never from a timed loop.
  // `fraction` is of this call of Prepare or RunOnce, 0..1; `rate` the current rate in `unit`, NaN if unknown.
  virtual void Report(std::string_view step, double fraction, double rate, v1::Unit unit) = 0;

  // Adds a stretch of a time series to the current repetition. Never from a timed section.
  virtual void AddSamples(v1::SampleBatch samples) = 0;

  // Facts that follow from this machine (role DERIVED), recorded with the task.
  virtual void SetDerived(const std::string& name, v1::ParameterValue value) = 0;
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Checks room, makes files and buffers, touches memory, warms up what is not a repetition.
  virtual absl::Status Prepare(WorkContext& context) = 0;

  // One measured pass: fills `measurements` (and flags) of `repetition`; the loop fills number, warmup, times and
  // conditions. A metric that could not be measured is in it with a missing_reason and no value.
  virtual absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) = 0;

  // Removes what Prepare and RunOnce made, also after an error. The scratch directory itself is the loop's.
  virtual void Cleanup(WorkContext& context) = 0;

  // Extra passes before the first repetition; stored, marked, not summarised.
  virtual unsigned warmups() const { return 0; }
};

// One row of the table of workloads: the descriptor is readable without an instance.
struct WorkloadEntry {
  v1::WorkloadDescriptor descriptor;
  std::function<std::unique_ptr<Workload>()> make;
};

// The one explicit table of everything this agent can measure (agent/workloads/table.cc).
const std::vector<WorkloadEntry>& WorkloadTable();

// The row of `name` at `version` (0: the newest); NotFound names the nearest match.
absl::StatusOr<const WorkloadEntry*> FindWorkload(const std::string& name, uint32_t version);
// The same in another table (tests bring their own).
absl::StatusOr<const WorkloadEntry*> FindWorkload(const std::vector<WorkloadEntry>& table, const std::string& name,
                                                  uint32_t version);

// Checks values against the descriptor (names, types, ranges, choices; unknown names with their nearest match) and
// fills in defaults. Used by the agent for what a collector asks, again by the worker, and by `fleetmark-agent run`.
absl::StatusOr<std::map<std::string, v1::ParameterValue>> ResolveParameters(
    const v1::WorkloadDescriptor& descriptor, const std::map<std::string, v1::ParameterValue>& given);

}  // namespace fleetmark::agent
