// Records small enough for a message. Pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// A message holds at most 1 MiB of records (agent.proto).
inline constexpr size_t kMaxRecordBytes = size_t{768} << 10;

// `record` as it is if it fits, else: samples cut into several records; of anything else the bulkiest parts are left
// out (histograms first, then measurements; inventory; long texts), with a flag or text that says what and why.
std::vector<v1::Record> SplitToFit(v1::Record record, size_t max_bytes = kMaxRecordBytes);

}  // namespace fleetmark::agent
