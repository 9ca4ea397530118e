// Ingest: from batches of records to committed rows, and to what may be acknowledged.
//
// Owned by the collector. Store() blocks on the database and is called on the worker threads, for one host from one
// thread at a time. What it cannot take (over the limits) ends the session with a reason; what the database cannot take
// just now yields a Hold, and the agent keeps it; a host over its quota is left unread for a while.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/store/result_store.h"
#include "common/sync/mutex.h"
#include "common/time/clock.h"

namespace fleetmark::collector {

struct IngestResult {
  std::vector<v1::Ack> acks;     // after the commit
  std::optional<v1::Hold> hold;  // the database is not there: nothing was stored
  std::vector<RunId> changed_runs;
};

struct IngestOptions {
  absl::Duration hold = absl::Seconds(5);
  // What one host may send, over any stretch of time: this many bytes a second, with a burst of a minute's worth.
  double bytes_per_second = 4e6;
  std::function<int64_t()> monotonic_ns = [] { return SystemClock().MonotonicNs(); };
};

class Ingest {
 public:
  explicit Ingest(ResultStore& results, IngestOptions options = {});

  // RESOURCE_EXHAUSTED: a record is over the limits (names it); the session ends with that.
  absl::StatusOr<IngestResult> Store(const HostId& host, std::vector<v1::Record> records);

  // How long a host has to be left unread until it is within its quota again; 0 if it is. Outlasts its sessions.
  absl::Duration OverQuota(const HostId& host);

  bool database_down() const { return database_down_; }
  uint64_t records() const { return records_; }
  uint64_t duplicates() const { return duplicates_; }
  uint64_t quarantined() const { return quarantined_; }
  uint64_t mended() const { return mended_; }

 private:
  void Charge(const HostId& host, double bytes);
  void NoteDatabase(const absl::Status& status);

  ResultStore& results_;
  const IngestOptions options_;
  std::atomic<bool> database_down_{false};
  std::atomic<uint64_t> records_{0}, duplicates_{0}, quarantined_{0}, mended_{0};

  struct Budget {
    double bytes = 0;  // spent, running off at bytes_per_second
    int64_t at_ns = 0;
  };
  double Spent(const Budget& budget, int64_t now_ns) const;
  Mutex mutex_;
  std::map<HostId, Budget> budgets_ GUARDED_BY(mutex_);
  absl::Time warned_ GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace fleetmark::collector
