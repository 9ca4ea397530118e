// Session: one stream to one collector, from dialling to its end, as events for the link's thread.
//
//   Start ──► (messages) ──► kReadEnded ──► kDone        Cancel and CloseWrites hasten the end
//
// Owned by AgentLink's thread, which alone calls it; gRPC's threads only put events into the queue. May be destroyed
// after kDone. One read and one write are in flight at most: the next message is read when Read is called.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <deque>
#include <memory>

#include "common/sync/mutex.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::agent {

struct SessionEvent {
  enum class Kind { kMessage, kWritten, kReadEnded, kDone };
  Kind kind = Kind::kDone;
  v1::CollectorMessage message;  // of kMessage
  bool ok = false;               // of kWritten
  grpc::Status status;           // of kDone
};

// Where a session puts its events. Called from gRPC's threads; returns at once.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  virtual void OnEvent(SessionEvent event) = 0;
};

class Session : private grpc::ClientBidiReactor<v1::AgentMessage, v1::CollectorMessage> {
 public:
  // `events` outlives the session.
  Session(const std::shared_ptr<grpc::Channel>& channel, SessionEvents& events);

  void Start();
  void Read();                           // after each kMessage
  void Write(v1::AgentMessage message);  // REQUIRES: !writing(), and no kReadEnded yet
  bool writing() const { return writing_; }
  void OnWritten() { writing_ = false; }  // to be called for kWritten
  void CloseWrites();                     // REQUIRES: as Write; no Write follows
  void OnReadEnded();                     // to be called once, for kReadEnded: nothing is started any more
  void Cancel() { context_.TryCancel(); }

  v1::AgentService::Stub& stub() { return *stub_; }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  SessionEvents& events_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  v1::CollectorMessage incoming_;
  v1::AgentMessage outgoing_;
  bool writing_ = false;
};

}  // namespace fleetmark::agent
