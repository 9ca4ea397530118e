// Conversation: what is said on one stream, from hello to the end: answers to the collector's messages, records by the
// window, heartbeats, watchdog. Knows nothing of dialling and retrying.
//
// Owned and called by the link's thread alone. After any call, Deadline() is when OnTime wants to be called next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/connection/agent_link.h"
#include "agent/connection/outgoing.h"
#include "agent/connection/session.h"
#include "agent/connection/transfer.h"

namespace fleetmark::agent {

class Conversation {
 public:
  // All references outlive the conversation. `name` is the collector in log lines.
  struct Parts {
    Session& session;
    Transfer& transfer;
    Outgoing& outgoing;
    LinkListener& listener;
    const Clock& clock;
    const AgentLink::Options& options;
    std::string name;
  };
  explicit Conversation(Parts parts) : parts_(std::move(parts)) {}

  void Begin(v1::Hello hello);
  void OnEvent(const SessionEvent& event);
  void OnTime();
  void Pump();  // starts a write if there is something to write and none is under way
  void RecordsAvailable() { more_records_ = true; }

  // A friendly end (the stream is closed, the collector may still answer) and an unfriendly one, with its reason.
  void Close();
  // `lasting`: trying again soon is of no use.
  void Abort(std::string reason, bool lasting = false);

  int64_t Deadline() const;
  bool welcomed() const { return welcomed_ns_.has_value(); }
  bool done() const { return final_status_.has_value(); }
  bool all_acknowledged() const { return welcomed() && !more_records_ && parts_.transfer.idle(); }

  // After done():
  const grpc::Status& status() const { return *final_status_; }
  const std::optional<v1::Refusal>& refusal() const { return refusal_; }
  const std::string& abort_reason() const { return abort_reason_; }
  bool abort_is_lasting() const { return abort_is_lasting_; }
  absl::Duration lasted() const;  // since the welcome

 private:
  void OnMessage(const v1::CollectorMessage& message);
  void OnWelcome(const v1::Welcome& welcome);
  void OnAck(const v1::Ack& ack);
  void Beat(int64_t now_ns);
  bool MayWrite() const { return !parts_.session.writing() && !read_ended_ && !closing_ && !cancelled_; }

  Parts parts_;
  int64_t begun_ns_ = 0;
  std::optional<int64_t> welcomed_ns_;
  int64_t ended_ns_ = 0;
  int64_t last_received_ns_ = 0;
  int64_t heartbeat_ns_ = 0;
  int64_t next_beat_ns_ = 0;
  uint64_t beats_ = 0;
  v1::AgentStatus last_status_;
  bool more_records_ = true;
  bool read_failed_ = false;  // of the spool; tried again at the next heartbeat
  bool read_ended_ = false;
  bool closing_ = false;
  bool cancelled_ = false;
  bool odd_ack_told_ = false;
  std::optional<v1::Refusal> refusal_;
  std::string abort_reason_;
  bool abort_is_lasting_ = false;
  std::optional<grpc::Status> final_status_;
};

}  // namespace fleetmark::agent
