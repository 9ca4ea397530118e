// GrpcLink: the AgentLink that dials with gRPC. See agent_link.h for the contract.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/connection/agent_link.h"
#include "agent/connection/conversation.h"
#include "agent/connection/outgoing.h"
#include "agent/connection/renewal.h"
#include "agent/connection/retry.h"
#include "agent/connection/session.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {

class GrpcLink : public AgentLink, private SessionEvents {
 public:
  GrpcLink(Options options, Dependencies dependencies);
  ~GrpcLink() override;

  void Start() override;
  void Send(v1::AgentMessage message) override;
  void OfferProgress(const v1::Progress& progress) override;
  void EndProgress(int64_t task_id, uint32_t attempt) override;
  void RecordsAvailable() override;
  void StartOver(std::string reason) override;
  bool Drain(absl::Duration deadline) override;
  std::string Shutdown(absl::Duration deadline) override;
  bool connected() const override;

 private:
  // How a try ended.
  struct End {
    bool resumed = false;  // the machine slept
    bool welcomed = false;
    absl::Duration lasted;  // since the welcome
    absl::Status status;    // why, in words for the log
    std::optional<v1::Refusal> refusal;
    bool lasting = false;                   // trying again soon is of no use
    std::shared_ptr<TlsMaterial> material;  // for a diagnosis; null: it was ours to mend
  };

  void OnEvent(SessionEvent event) override;
  void Wake();

  void Run();
  End Try(const std::string& address);
  void Converse(Session& session, Conversation& conversation, const TlsMaterial& material, End& end);
  End Judge(const Conversation& conversation, End end);
  absl::Duration Plan(const End& end);
  void Tell(const std::string& address, const End& end, absl::Duration wait);
  void WaitForRetry(absl::Duration wait);
  // Waits for an event, a wake or the time.
  void WaitUntil(int64_t deadline_ns) EXCLUDES(mutex_);
  bool SleptSinceLastLook();
  bool stopping() const;

  const Options options_;
  LinkListener& listener_;
  const Clock& clock_;

  Outgoing outgoing_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<SessionEvent> events_ GUARDED_BY(mutex_);
  bool woken_ GUARDED_BY(mutex_) = false;
  bool records_available_ GUARDED_BY(mutex_) = false;
  std::string start_over_ GUARDED_BY(mutex_);  // why; "": no
  bool connected_ GUARDED_BY(mutex_) = false;
  bool all_acknowledged_ GUARDED_BY(mutex_) = false;
  bool stop_ GUARDED_BY(mutex_) = false;
  int64_t stop_deadline_ns_ GUARDED_BY(mutex_) = 0;

  // Owned by the link's thread.
  Retry retry_;
  Transfer transfer_;
  Renewal renewal_;
  std::map<std::string, SayOnce> said_;  // by address
  int64_t slept_ns_ = 0;                 // boot clock over monotonic clock at the last look
  absl::Duration keepalive_;

  std::thread thread_;
};

}  // namespace fleetmark::agent
