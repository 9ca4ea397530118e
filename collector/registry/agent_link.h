// AgentLink: a live session with an agent, as the rest of the collector sees it: something that takes messages.
//
// Implemented by service/agent's AgentSession. Thread-safe; nothing blocks.
#pragma once

#include "absl/status/status.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::collector {

// The way back for a host that was removed, for the machine it is told on.
inline constexpr char kHowToEnrolAgain[] =
    "to enrol this machine again, type here `fleetmark-agent reset-id`, then the line that `fleetmark hosts invite` "
    "prints";

class AgentLink {
 public:
  virtual ~AgentLink() = default;

  // Queues a message. UNAVAILABLE: the session is over, or its queue is full, which ends it: the truth is in the
  // database and the next session reads it there.
  virtual absl::Status Send(v1::CollectorMessage message) = 0;

  // Ends the stream with `status`, after a last message if `refusal` has a reason.
  virtual void End(const v1::Refusal& refusal, const absl::Status& status) = 0;
};

}  // namespace fleetmark::collector
