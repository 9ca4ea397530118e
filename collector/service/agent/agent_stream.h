// AgentStream: the reactor of one Connect call. It reads when its session may be read, writes one message at a time
// from a bounded queue, and deletes itself in OnDone; what the messages mean is the session's affair.
//
// Lives from the call to OnDone. Reactions run in parallel on gRPC's threads; the port's methods are called by the
// session with its own mutex held, so mutex_ is always taken last.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>

#include "collector/service/agent/agent_session.h"
#include "collector/service/agent/agent_sessions.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class AgentStream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>,
                          public AgentSession::Port {
 public:
  static constexpr size_t kMostQueued = 1000;

  AgentStream(grpc::CallbackServerContext* context, const SessionContext& session_context, AgentSessions& sessions,
              Peer peer);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  bool Write(v1::CollectorMessage message) override EXCLUDES(mutex_);
  void Resume() override EXCLUDES(mutex_);
  void Finish(const absl::Status& status) override EXCLUDES(mutex_);
  void Cancel() override;

 private:
  void WriteNext() REQUIRES(mutex_);
  void FinishNow() REQUIRES(mutex_);

  grpc::CallbackServerContext* const context_;
  AgentSessions& sessions_;
  const HostId host_;
  std::shared_ptr<AgentSession> session_;
  v1::AgentMessage incoming_;  // belongs to the read under way

  Mutex mutex_;
  bool paused_ GUARDED_BY(mutex_) = false;  // no read is under way, the session has enough
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> finish_with_ GUARDED_BY(mutex_);
  std::deque<v1::CollectorMessage> queue_ GUARDED_BY(mutex_);
  v1::CollectorMessage outgoing_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
