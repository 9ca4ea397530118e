// AgentSession: one agent's stay with this collector, from its Hello to the end of its stream. No gRPC: the stream is
// a Port, so that the session can be tested without one.
//
//            Hello                 admitted: Welcome, what Reconcile says, into the registry
//   kHello ─────────► kAdmitting ─────────────────────────────────────────────────────────► kLive
//     │ no Hello in time   │ Refusal                         End(), protocol error, watchdog  │
//     └────────────────────┴───────────────► kEnding ◄────────────────────────────────────────┘
//                                               │ the stream is done (Detach)
//                                               ▼
//                                            kOver: out of the registry, claim released
//
// Owned by its stream (agent_stream.h) through a shared pointer; the registry has a weak one. Thread-safe: OnMessage
// from reactions, Send and End from anywhere, Tick from the sessions' thread. What needs the database runs on the
// host's worker thread, in the order in which it arrived; so many messages may wait there, then the session is not read
// any further: that is the agent's back-pressure.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "collector/registry/agent_link.h"
#include "collector/service/agent/admission.h"
#include "collector/service/agent/session_context.h"
#include "collector/service/peer/peer.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class AgentSession final : public AgentLink, public std::enable_shared_from_this<AgentSession> {
 public:
  // The stream as its session uses it. Called with the session's mutex held; must not call back.
  class Port {
   public:
    virtual ~Port() = default;
    virtual bool Write(v1::CollectorMessage message) = 0;  // queues; false: the queue is full
    virtual void Resume() = 0;                             // reads on, if MayRead() allows
    virtual void Finish(const absl::Status& status) = 0;   // after what is queued
    virtual void Cancel() = 0;                             // at once
  };

  AgentSession(const SessionContext& context, Peer peer, Port* port, int64_t now_ns);

  // --- from the stream ---
  void OnMessage(v1::AgentMessage message) EXCLUDES(mutex_);
  void OnReadsEnded() EXCLUDES(mutex_);  // half-closed, cut or cancelled
  void Detach() EXCLUDES(mutex_);        // the port goes away; the last call
  bool MayRead() const { return waiting_ < kMostWaiting && !throttled_; }

  // --- AgentLink ---
  absl::Status Send(v1::CollectorMessage message) override EXCLUDES(mutex_);
  void End(const v1::Refusal& refusal, const absl::Status& status) override EXCLUDES(mutex_);

  // Heartbeats, watchdog, retries; once a second.
  void Tick(int64_t now_ns) EXCLUDES(mutex_);

  // How many messages may wait for the worker thread; a batch of our agent has at most 1 MiB.
  static constexpr int kMostWaiting = 16;

 private:
  enum class State { kHello, kAdmitting, kLive, kEnding, kOver };

  struct Retry {
    absl::string_view what;
    std::function<absl::Status()> work;
  };

  void Post(std::function<void()> job);
  // Runs `work`, which needs the database; while that is away, again every few seconds as long as the session lives,
  // and what comes later waits behind it. On the host's worker thread.
  void RunOrRetry(absl::string_view what, std::function<absl::Status()> work) EXCLUDES(mutex_);
  void RunRetries() EXCLUDES(mutex_);
  bool IsDone(const Retry& retry) const;  // false: the database is away
  void MessageDone() EXCLUDES(mutex_);
  bool WasAdmitted() const EXCLUDES(mutex_);
  void AdmitNow(const v1::Hello& hello) EXCLUDES(mutex_);
  void TakeRecords(v1::RecordBatch batch) EXCLUDES(mutex_);
  void StoreWaitingRecords() EXCLUDES(mutex_);
  void Dispatch(v1::AgentMessage message) EXCLUDES(mutex_);
  void EndLocked(const v1::Refusal& refusal, const absl::Status& status) REQUIRES(mutex_);
  bool WriteLocked(v1::CollectorMessage message) REQUIRES(mutex_);

  const SessionContext& context_;
  const Peer peer_;

  std::atomic<int> waiting_{0};         // messages handed to the worker thread and not done
  std::atomic<bool> throttled_{false};  // over its quota

  mutable Mutex mutex_;
  Port* port_ GUARDED_BY(mutex_);
  State state_ GUARDED_BY(mutex_) = State::kHello;
  HostId host_ GUARDED_BY(mutex_);
  std::string name_ GUARDED_BY(mutex_);
  std::optional<Claimant> claimant_ GUARDED_BY(mutex_);
  const int64_t started_ns_;
  int64_t heard_ns_ GUARDED_BY(mutex_);  // monotonic
  int64_t sent_ns_ GUARDED_BY(mutex_) = 0;
  int64_t ending_ns_ GUARDED_BY(mutex_) = 0;
  int64_t retry_ns_ GUARDED_BY(mutex_) = 0;
  uint64_t heartbeats_ GUARDED_BY(mutex_) = 0;
  std::vector<v1::Record> records_ GUARDED_BY(mutex_);  // wait for the worker thread
  int record_messages_ GUARDED_BY(mutex_) = 0;
  std::deque<Retry> retries_ GUARDED_BY(mutex_);  // changed on the worker thread, but for Detach
  bool retrying_ GUARDED_BY(mutex_) = false;      // RunRetries is posted
};

}  // namespace fleetmark::collector
