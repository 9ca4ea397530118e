// What the store speaks: plain structs, and the messages of fleetmark.v1 where a thing is stored as the message it
// arrived in (inventory, descriptors, records) or shown as one (Host, Run, Task).
//
// All stores are implemented over one connection pool (see database.h), are thread-safe, run one transaction a call
// and retry it by themselves where that is safe (serialization failure, connection lost before the commit was sent).
// Errors, mapped in one place (error_mapping.h):
//   UNAVAILABLE          the database is not there, read-only or full: keep what you have and try again
//   NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, INVALID_ARGUMENT   as usual
//   INTERNAL             our own SQL is wrong
// No message ever carries a password.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

using HostId = std::string;  // UUID in its 36-character text form
using RunId = int64_t;
using TaskId = int64_t;

struct AttemptKey {
  TaskId task = 0;
  uint32_t attempt = 0;
  bool operator==(const AttemptKey&) const = default;
  auto operator<=>(const AttemptKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 takes it for 0
};

}  // namespace fleetmark::collector
