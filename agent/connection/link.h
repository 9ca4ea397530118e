// The two sides of the connection as the rest of the agent sees it. No gRPC here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/spool.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// The protocol versions this agent speaks.
inline constexpr uint32_t kProtocolMinimum = 1;
inline constexpr uint32_t kProtocolMaximum = 1;

// To the collector. All methods may be called from any thread, at any time, and return at once.
class Link {
 public:
  virtual ~Link() = default;

  // An answer or news (accepted, refused, inventory, status). Dropped without a connection: the next hello says it all.
  virtual void Send(v1::AgentMessage message) = 0;

  // The newest of each task is sent, as often as the collector wants it.
  virtual void OfferProgress(const v1::Progress& progress) = 0;
  virtual void EndProgress(int64_t task_id, uint32_t attempt) = 0;

  // There may be records to read that were not there before.
  virtual void RecordsAvailable() = 0;

  // Ends the present stream and makes a new one with a new hello: both sides have to agree on the tasks again.
  virtual void StartOver(std::string reason) = 0;
};

// From the collector. Called on the link's thread, one at a time.
class LinkListener {
 public:
  virtual ~LinkListener() = default;

  // All of the hello but host id, protocol range and time, which the link fills in.
  virtual v1::Hello MakeHello() = 0;
  virtual void OnWelcome(const v1::Welcome& welcome) = 0;
  virtual void OnDisconnect() = 0;  // after OnWelcome, once

  virtual void OnStartTask(const v1::StartTask& task) = 0;
  virtual void OnCancelTask(const v1::CancelTask& cancel) = 0;

  // The fleet does not know this host any more: nobody waits for what it measures.
  virtual void OnRemoved() = 0;

  // As Outbox::Read and Outbox::Acknowledge.
  virtual absl::StatusOr<Spool::Batch> ReadRecords(uint64_t after_position, size_t max_bytes) = 0;
  virtual absl::Status Acknowledge(const v1::Ack& ack) = 0;

  // At every heartbeat: a chance for small work, and what the collector should know of the agent's health.
  virtual v1::AgentStatus OnHeartbeat() = 0;

  // As Outbox::IfDiskIsFree: false and not called while a timed section runs.
  virtual bool IfDiskIsFree(const std::function<void()>& work) = 0;
};

}  // namespace fleetmark::agent
