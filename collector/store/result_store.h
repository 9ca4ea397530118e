// Results: what agents measured. Written once in effect, read for comparisons.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

struct StoredRecords {
  std::vector<v1::Ack> acks;        // highest contiguous committed sequence per (task, attempt) touched
  std::vector<RunId> changed_runs;  // whose task or run state changed
  struct Quarantined {
    v1::RecordId id;
    std::string reason;
  };
  std::vector<Quarantined> quarantined;  // kept aside with their reason; acknowledged all the same
  uint64_t duplicates = 0;
};

// One repetition x metric, as a comparison needs it.
struct ResultRow {
  RunId run = 0;
  TaskId task = 0;
  HostId host;
  std::string host_name;
  std::string target;
  std::string target_path;
  std::string disk;        // identity of the first disk; empty without target
  std::string disk_label;  // model or kernel name
  std::string stack;       // "ext4 > vda1 > vda"
  std::string workload;
  uint32_t version = 0;
  std::map<std::string, v1::ParameterValue> identity_parameters;
  std::map<std::string, v1::ParameterValue> derived_parameters;
  std::string agent_build;
  uint32_t repetition = 0;
  v1::Measurement measurement;  // with its histogram and flags (those of its repetition included)
  double started_unix_seconds = 0;
};

struct TaskNote {  // of tasks that yielded nothing, or less
  RunId run = 0;
  HostId host;
  std::string host_name;
  std::string target;
  std::string workload;
  uint32_t version = 0;
  v1::TaskState state = v1::TASK_STATE_UNSPECIFIED;
  std::string reason;
};

struct ResultQuery {
  std::vector<HostId> hosts;           // newest results of each, per workload@version, target and identity parameters
  std::vector<RunId> runs;             // or all results of these runs
  std::vector<std::string> workloads;  // only these
};

struct ResultSet {
  std::vector<ResultRow> rows;  // warm-ups and superseded attempts left out; in order of run, task, repetition
  std::vector<TaskNote> notes;
};

class ResultStore {
 public:
  virtual ~ResultStore() = default;

  // One transaction: inserts what is new (keyed by task, attempt, sequence), updates task and run states for started
  // and finished records, and returns what may be acknowledged - after the commit. A record of another host's task,
  // with other content than the one stored under its key, or that the schema refuses (over-long text, uneven samples),
  // is quarantined and does not hold up the others. Of a record with values that are not finite only those are left
  // out, with a reason, and a copy is quarantined. A finished record counts once all records before it are there. A
  // commit of unknown outcome is looked up, not repeated blindly.
  virtual absl::StatusOr<StoredRecords> StoreRecords(const HostId& host, const std::vector<v1::Record>& records) = 0;

  virtual absl::StatusOr<ResultSet> Query(const ResultQuery& query) = 0;
};

}  // namespace fleetmark::collector
