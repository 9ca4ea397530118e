// AgentLink: the agent's one outgoing stream to a collector, kept alive for as long as the agent lives.
//
//              ┌──────────────────────── wait (backoff, next collector) ◄───────────────┐
//              ▼                                                                        │
//   dial ─► hello sent ─► welcome ─► steady: messages, records, progress, heartbeats ─► closed
//              └─► refusal ─► closed      └─► watchdog, overdue acknowledgement, sleep, stop ...
//
// Owned by the agent (agent/agent.cc). One thread of its own ("link") runs the whole picture; gRPC's threads only queue
// events for it. The listener is called on that thread.
// Start: Create, Start. Stop: Drain (optional), Shutdown; the destructor only asserts that it was called. Not reaching
// a collector is no error: it is logged once for each reason, and tried for ever.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/connection/link.h"
#include "agent/connection/transfer.h"
#include "common/pki/tls_files.h"
#include "common/time/backoff.h"
#include "common/time/clock.h"

namespace fleetmark::agent {

class AgentLink : public Link {
 public:
  struct Options {
    std::vector<std::string> collectors;  // at least one, "10.0.0.2:7401"
    TlsFiles identity;
    Backoff::Options backoff;
    Transfer::Options transfer;
    absl::Duration welcome_deadline = absl::Seconds(15);  // from dialling to the collector's answer
    absl::Duration least_heartbeat = absl::Seconds(1);    // what a collector asks for is clamped to these
    absl::Duration most_heartbeat = absl::Seconds(60);
    // Between two pings of an idle connection, at first: twice as long for each collector that finds that too often.
    absl::Duration keepalive = absl::Seconds(20);
    absl::Duration resume_threshold = absl::Seconds(5);  // sleep of the machine that ends a connection
    absl::Duration longest_nap = absl::Seconds(5);       // between two looks at the boot clock
  };

  struct Dependencies {
    LinkListener* listener = nullptr;  // outlives the link
    const Clock* clock = nullptr;      // default: SystemClock()
    Backoff::RandomSource random;      // default: Backoff::SystemRandom()
  };

  static std::unique_ptr<AgentLink> Create(Options options, Dependencies dependencies);
  ~AgentLink() override = default;  // REQUIRES: Shutdown was called, or Start was not

  virtual void Start() = 0;

  // Waits until every record there is has been acknowledged, or `deadline` has passed, or there is no connection.
  // Returns whether all are.
  virtual bool Drain(absl::Duration deadline) = 0;

  // Ends the stream and joins the thread. Says what it abandoned ("" = nothing). Idempotent.
  virtual std::string Shutdown(absl::Duration deadline) = 0;

  virtual bool connected() const = 0;  // welcomed, and not closed since
};

}  // namespace fleetmark::agent
