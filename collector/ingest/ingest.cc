#include "collector/ingest/ingest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/ingest/sanitize.h"
#include "common/log/log.h"

namespace fleetmark::collector {

Ingest::Ingest(ResultStore& results, IngestOptions options) : results_(results), options_(std::move(options)) {}

absl::StatusOr<IngestResult> Ingest::Store(const HostId& host, std::vector<v1::Record> records) {
  double bytes = 0;
  size_t mended = 0;
  for (v1::Record& record : records) {
    if (const std::optional<std::string> refusal = RefuseRecord(record)) {
      return absl::ResourceExhaustedError(absl::StrCat("task ", record.id().task_id(), ", attempt ",
                                                       record.id().attempt(), ", record ", record.id().sequence(),
                                                       " of host ", host, ": ", *refusal, "; it cannot be stored"));
    }
    bytes += static_cast<double>(record.ByteSizeLong());
    mended += MendRecord(record);
  }
  Charge(host, bytes);

  const absl::StatusOr<StoredRecords> stored = results_.StoreRecords(host, records);
  NoteDatabase(stored.status());
  IngestResult result;
  if (!stored.ok()) {
    if (stored.status().code() != absl::StatusCode::kUnavailable &&
        stored.status().code() != absl::StatusCode::kDeadlineExceeded) {
      LogError("ingest", absl::StrCat("store ", records.size(), " records of host ", host, ": ",
                                      std::string(stored.status().message())));
    }
    // Also for an error that waiting will not mend: it is ours, not the agent's, and its spool is the safe place.
    result.hold.emplace();
    result.hold->set_reason(
        absl::StrCat("the records could not be committed: ", std::string(stored.status().message())));
    result.hold->set_seconds(absl::ToDoubleSeconds(options_.hold));
    return result;
  }
  records_ += records.size();
  duplicates_ += stored->duplicates;
  quarantined_ += stored->quarantined.size();
  if (mended > 0) {
    mended_ += mended;
    LogWarning("ingest", absl::StrCat("host ", host, ": ", mended, " values were not finite, or not text; left out"));
  }
  for (const StoredRecords::Quarantined& aside : stored->quarantined) {
    LogWarning("ingest", absl::StrCat("host ", host, ": task ", aside.id.task_id(), ", attempt ", aside.id.attempt(),
                                      ", record ", aside.id.sequence(), " set aside: ", aside.reason));
  }
  result.acks = stored->acks;
  result.changed_runs = stored->changed_runs;
  return result;
}

void Ingest::NoteDatabase(const absl::Status& status) {
  const bool down = !status.ok();
  const bool was_down = database_down_.exchange(down);
  if (!down) {
    if (was_down) LogInfo("ingest", "the database takes records again");
    return;
  }
  MutexLock lock(mutex_);
  if (absl::Now() - warned_ < absl::Minutes(1)) return;
  warned_ = absl::Now();
  LogWarning("ingest",
             absl::StrCat("the database takes no records, agents keep theirs: ", std::string(status.message())));
}

double Ingest::Spent(const Budget& budget, int64_t now_ns) const {
  const double passed = static_cast<double>(now_ns - budget.at_ns) / 1e9;
  return std::max(0.0, budget.bytes - passed * options_.bytes_per_second);
}

void Ingest::Charge(const HostId& host, double bytes) {
  MutexLock lock(mutex_);
  const int64_t now = options_.monotonic_ns();
  std::erase_if(budgets_, [&](const auto& entry) { return Spent(entry.second, now) == 0; });
  Budget& budget = budgets_.try_emplace(host, Budget{0, now}).first->second;
  budget = {Spent(budget, now) + bytes, now};
}

absl::Duration Ingest::OverQuota(const HostId& host) {
  MutexLock lock(mutex_);
  const auto found = budgets_.find(host);
  if (found == budgets_.end()) return absl::ZeroDuration();
  const double over = Spent(found->second, options_.monotonic_ns()) - 60 * options_.bytes_per_second;
  return over <= 0 ? absl::ZeroDuration() : absl::Seconds(over / options_.bytes_per_second);
}

}  // namespace fleetmark::collector
