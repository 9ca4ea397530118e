#include "collector/service/agent/agent_stream.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "common/rpc/handover.h"
#include "common/rpc/status.h"
#include "common/time/clock.h"

namespace fleetmark::collector {

AgentStream::AgentStream(grpc::CallbackServerContext* context, const SessionContext& session_context,
                         AgentSessions& sessions, Peer peer)
    : context_(context), sessions_(sessions), host_(peer.identity.id) {
  session_ = std::make_shared<AgentSession>(session_context, std::move(peer), this, SystemClock().MonotonicNs());
  const absl::Status status = sessions_.Add(host_, session_);
  GivenToGrpc(this);
  if (!status.ok()) {
    session_->End({}, status);
    return;
  }
  GivenToGrpc(&incoming_);
  StartRead(&incoming_);
}

void AgentStream::OnReadDone(bool ok) {
  const Reaction reaction(this);
  TakenFromGrpc(&incoming_);
  if (!ok) {
    session_->OnReadsEnded();
    return;
  }
  session_->OnMessage(std::move(incoming_));
  incoming_ = v1::AgentMessage();
  MutexLock lock(mutex_);
  if (finished_) return;
  if (session_->MayRead()) {
    GivenToGrpc(&incoming_);
    StartRead(&incoming_);
  } else {
    paused_ = true;
  }
}

void AgentStream::Resume() {
  MutexLock lock(mutex_);
  if (!paused_ || finished_ || !session_->MayRead()) return;
  paused_ = false;
  GivenToGrpc(&incoming_);
  StartRead(&incoming_);
}

bool AgentStream::Write(v1::CollectorMessage message) {
  MutexLock lock(mutex_);
  if (finish_with_.has_value()) return true;  // on its way out; nobody waits for this any more
  if (queue_.size() >= kMostQueued) return false;
  queue_.push_back(std::move(message));
  if (!writing_) WriteNext();
  return true;
}

void AgentStream::WriteNext() {
  writing_ = true;
  outgoing_ = std::move(queue_.front());
  queue_.pop_front();
  GivenToGrpc(&outgoing_);
  StartWrite(&outgoing_);
}

void AgentStream::OnWriteDone(bool ok) {
  const Reaction reaction(this);
  TakenFromGrpc(&outgoing_);
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) queue_.clear();
  if (!queue_.empty()) {
    WriteNext();
  } else if (finish_with_.has_value() || !ok) {
    FinishNow();
  }
}

void AgentStream::Finish(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (finish_with_.has_value()) return;
  finish_with_ = status;
  if (!writing_) FinishNow();
}

void AgentStream::FinishNow() {
  if (finished_) return;
  finished_ = true;
  const absl::Status status = finish_with_.value_or(absl::CancelledError("the stream broke while writing"));
  finish_with_ = status;
  ServerBidiReactor::Finish(ToGrpcStatus(status));
}

void AgentStream::Cancel() { context_->TryCancel(); }

void AgentStream::OnCancel() {
  const Reaction reaction(this);
  // Reads and writes fail now; Finish is owed all the same.
  session_->OnReadsEnded();
  MutexLock lock(mutex_);
  queue_.clear();
  if (!finish_with_.has_value()) finish_with_ = absl::CancelledError("the stream was cancelled");
  if (!writing_) FinishNow();
}

void AgentStream::OnDone() {
  LastReaction(this);
  session_->Detach();
  sessions_.Remove(host_, session_.get());
  delete this;
}

}  // namespace fleetmark::collector
