// Records on their way into rows.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "collector/store/connection.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

// A record, looked at once before any transaction. Text is made fit for the database; numbers that are not finite are
// taken out, with a note; the hash is of the record as it came.
struct PreparedRecord {
  v1::RecordId id;
  AttemptKey key;
  std::string original;  // serialized, for the quarantine
  std::string sha256;
  v1::Record clean;
  bool clock_bad = false;  // the agent's time stamps cannot be right
  std::string invalid;     // not empty: cannot be stored as what it claims to be, and why
  std::string note;        // not empty: stored, but parts of it were left out, and why
};

PreparedRecord PrepareRecord(const v1::Record& record, absl::Time now);

// A stamp of an agent that can be right: from 2015 to a day from now.
bool PlausibleTime(double unix_seconds, absl::Time now);

// Whether the record waits for the ones before it, and is kept as a message for that.
bool IsApplied(const v1::Record& record);

struct Refused {
  const PreparedRecord* record = nullptr;
  std::string reason;
};

// Inserts records whose attempts exist and whose keys are new. One that the database refuses is found by halving, gets
// a row that only marks its place in the sequence, and is returned; it does not hold up the others.
std::vector<Refused> InsertRecords(Transaction& transaction, const std::vector<const PreparedRecord*>& records,
                                   absl::Time received);

// Keeps a record aside with the reason; once per content.
void Quarantine(Transaction& transaction, const HostId& host, const PreparedRecord& record, const std::string& reason);

}  // namespace fleetmark::collector
