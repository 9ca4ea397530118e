#include "agent/connection/session.h"

#include <utility>

#include "common/rpc/handover.h"

namespace fleetmark::agent {

Session::Session(const std::shared_ptr<grpc::Channel>& channel, SessionEvents& events)
    : events_(events), stub_(v1::AgentService::NewStub(channel)) {}

void Session::Start() {
  stub_->async()->Connect(&context_, this);
  // Reads and writes are started outside of reactions: the hold keeps OnDone away until OnReadEnded gives it back.
  AddHold();
  GivenToGrpc(this);
  GivenToGrpc(&incoming_);
  StartRead(&incoming_);
  StartCall();
}

void Session::Read() {
  GivenToGrpc(&incoming_);
  StartRead(&incoming_);
}

void Session::Write(v1::AgentMessage message) {
  outgoing_ = std::move(message);
  writing_ = true;
  GivenToGrpc(&outgoing_);
  StartWrite(&outgoing_);
}

void Session::CloseWrites() { StartWritesDone(); }

void Session::OnReadEnded() { RemoveHold(); }

void Session::OnReadDone(bool ok) {
  const Reaction reaction(this);
  TakenFromGrpc(&incoming_);
  SessionEvent event;
  event.kind = ok ? SessionEvent::Kind::kMessage : SessionEvent::Kind::kReadEnded;
  if (ok) event.message = std::move(incoming_);
  incoming_.Clear();
  events_.OnEvent(std::move(event));
}

void Session::OnWriteDone(bool ok) {
  const Reaction reaction(this);
  TakenFromGrpc(&outgoing_);
  SessionEvent event;
  event.kind = SessionEvent::Kind::kWritten;
  event.ok = ok;
  events_.OnEvent(std::move(event));
}

void Session::OnDone(const grpc::Status& status) {
  LastReaction(this);
  SessionEvent event;
  event.kind = SessionEvent::Kind::kDone;
  event.status = status;
  events_.OnEvent(std::move(event));
}

}  // namespace fleetmark::agent
