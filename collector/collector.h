// Collector: the composition root. Builds every part, hands out references, and is the one place that knows the order
// in which they start and stop.
//
// Start order is the order of the members; they stop in reverse, in these steps (Shutdown):
//   1. refuse new work: the enrolment listener closes, notifications and the scheduler stop
//   2. end streams: agents are told to come back later (tasks go on there), watchers to watch again
//   3. the main listener closes, when the last reactor is done or the deadline has passed
//   4. worker threads run what is queued (the last commits, acknowledged to nobody; claims are released)
//   5. the store closes, the private PostgreSQL stops
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::collector {

struct CollectorOptions {
  std::string state_directory;       // absolute; made with 0700
  std::string config_directory;      // where the local user's client configuration goes; empty: not written
  std::string listen = "[::]:7401";  // agents, people: mutual TLS only; port 0 picks one
  std::string enroll_listen = "[::]:7402";
  std::string database;                      // DSN or "service=NAME"; empty: a private PostgreSQL
  std::vector<std::string> advertise;        // how others reach this machine, for join lines; empty: what it finds
  uint32_t largest_batch_bytes = 256 << 10;  // of results in one message of an agent
  std::string version;
};

class Collector {
 public:
  // Waits for a database that is not there (UNAVAILABLE) until `stop`; other errors are final and say what to do.
  // CANCELLED: stopped while starting.
  static absl::StatusOr<std::unique_ptr<Collector>> Start(const CollectorOptions& options, const StopSignal& stop);
  ~Collector();  // REQUIRES: Shutdown() was called

  // Where this machine reaches it: "127.0.0.1:7401".
  const std::string& address() const;
  const std::string& enroll_address() const;  // empty: this collector does not enrol
  const std::string& database() const;        // for people, without a password

  // Idempotent. Says what it had to abandon.
  absl::Status Shutdown(absl::Duration deadline);

 private:
  class Parts;
  explicit Collector(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fleetmark::collector
