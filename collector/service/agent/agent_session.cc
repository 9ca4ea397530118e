#include "collector/service/agent/agent_session.h"

#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/ingest/sanitize.h"
#include "common/log/log.h"
#include "common/time/clock.h"

namespace fleetmark::collector {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kMostRetries = 100;
constexpr absl::string_view kRecordInventory = "record an inventory";
constexpr absl::string_view kRecordStatus = "record the state of an agent";

v1::CollectorMessage StartMessage(v1::StartTask start) {
  v1::CollectorMessage message;
  *message.mutable_start() = std::move(start);
  return message;
}

v1::CollectorMessage CancelMessage(const AttemptKey& key) {
  v1::CollectorMessage message;
  message.mutable_cancel()->set_task_id(key.task);
  message.mutable_cancel()->set_attempt(key.attempt);
  return message;
}

}  // namespace

AgentSession::AgentSession(const SessionContext& context, Peer peer, Port* port, int64_t now_ns)
    : context_(context), peer_(std::move(peer)), port_(port), started_ns_(now_ns), heard_ns_(now_ns) {}

// --- in
// ---------------------------------------------------------------------------------------------------------------

void AgentSession::OnMessage(v1::AgentMessage message) {
  HostId host;
  bool is_admitted = false;
  {
    MutexLock lock(mutex_);
    heard_ns_ = SystemClock().MonotonicNs();
    if (state_ == State::kEnding || state_ == State::kOver) return;
    if (state_ == State::kHello) {
      if (!message.has_hello()) {
        EndLocked({}, absl::InvalidArgumentError("the first message of an agent must be hello"));
        return;
      }
      state_ = State::kAdmitting;
      host_ = peer_.identity.id;
    } else if (message.has_hello()) {
      EndLocked({}, absl::InvalidArgumentError("a second hello on one stream"));
      return;
    }
    host = host_;
    is_admitted = state_ == State::kLive;
  }
  switch (message.kind_case()) {
    case v1::AgentMessage::kHeartbeat:
      return;
    case v1::AgentMessage::kProgress:
      // Not of one that may yet be refused; the next comes in a second. Its records are mended where they are stored.
      MendMessage(*message.mutable_progress());
      if (is_admitted) context_.events.ProgressArrived(host, message.progress());
      return;
    case v1::AgentMessage::kRecords:
      TakeRecords(std::move(*message.mutable_records()));
      return;
    case v1::AgentMessage::KIND_NOT_SET:
      return;  // of a newer agent
    default:
      Dispatch(std::move(message));
  }
}

void AgentSession::TakeRecords(v1::RecordBatch batch) {
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    is_first = record_messages_ == 0;
    ++record_messages_;
    ++waiting_;
    records_.insert(records_.end(), std::make_move_iterator(batch.mutable_records()->begin()),
                    std::make_move_iterator(batch.mutable_records()->end()));
  }
  // What arrives before the job runs goes into the same transaction.
  if (is_first) Post([self = shared_from_this()] { self->StoreWaitingRecords(); });
}

void AgentSession::StoreWaitingRecords() {
  std::vector<v1::Record> records;
  HostId host;
  int messages = 0;
  {
    MutexLock lock(mutex_);
    records.swap(records_);
    messages = std::exchange(record_messages_, 0);
    host = host_;
    if (!claimant_.has_value()) {  // refused: what it sent meanwhile stays in its spool
      waiting_ -= messages;
      return;
    }
  }
  const absl::StatusOr<IngestResult> result = context_.ingest.Store(host, std::move(records));
  if (!result.ok()) {
    End({}, result.status());
  } else {
    for (const v1::Ack& ack : result->acks) {
      v1::CollectorMessage message;
      *message.mutable_ack() = ack;
      if (!Send(std::move(message)).ok()) break;
    }
    if (result->hold.has_value()) {
      v1::CollectorMessage message;
      *message.mutable_hold() = *result->hold;
      Send(std::move(message)).IgnoreError();  // gone: the agent keeps its records all the same
    }
    if (!result->changed_runs.empty()) {
      context_.events.RunsChanged(result->changed_runs);
      context_.events.HostReady(host);
    }
    throttled_ = context_.ingest.OverQuota(host) > absl::ZeroDuration();
  }
  waiting_ -= messages - 1;
  MessageDone();
}

void AgentSession::Dispatch(v1::AgentMessage message) {
  ++waiting_;
  Post([self = shared_from_this(), message = std::make_shared<v1::AgentMessage>(std::move(message))] {
    const SessionContext& context = self->context_;
    const HostId host = self->peer_.identity.id;
    if (!message->has_hello() && !self->WasAdmitted()) return;
    switch (message->kind_case()) {
      case v1::AgentMessage::kHello:
        self->AdmitNow(message->hello());
        break;
      case v1::AgentMessage::kAccepted:
        self->RunOrRetry("record an accepted task", [&context, host, message] {
          return context.runs.TaskAccepted(host, {message->accepted().task_id(), message->accepted().attempt()});
        });
        break;
      case v1::AgentMessage::kRefused:
        if (message->refused().temporary()) context.events.HostRefuses(host, absl::Seconds(30));
        self->RunOrRetry("record a refused task", [&context, host, message] {
          const v1::TaskRefused& refused = message->refused();
          const absl::Status status = context.runs.TaskRefused(host, {refused.task_id(), refused.attempt()},
                                                               refused.reason(), refused.temporary());
          if (status.ok() && !refused.temporary()) context.events.HostReady(host);
          return status;
        });
        break;
      case v1::AgentMessage::kInventory:
        self->RunOrRetry(kRecordInventory, [&context, host, message] {
          return context.hosts.RecordInventory(host, message->inventory());
        });
        break;
      case v1::AgentMessage::kStatus:
        self->RunOrRetry(kRecordStatus, [&context, host, message] {
          const absl::Status status = context.hosts.RecordAgentStatus(host, message->status());
          if (status.ok() && message->status().refuses_tasks_because().empty()) {
            context.events.HostReady(host);
          } else if (status.ok()) {
            context.events.HostRefuses(host, absl::Minutes(5));
          }
          return status;
        });
        break;
      default:
        break;
    }
    self->MessageDone();
  });
}

void AgentSession::RunOrRetry(absl::string_view what, std::function<absl::Status()> work) {
  Retry retry{what, std::move(work)};
  {
    MutexLock lock(mutex_);
    if (!retries_.empty()) {  // not before what came earlier
      // Of these only the newest counts.
      if (what == kRecordInventory || what == kRecordStatus) {
        std::erase_if(retries_, [what](const Retry& earlier) { return earlier.what == what; });
      }
      if (retries_.size() < kMostRetries) {
        retries_.push_back(std::move(retry));
      } else {
        LogWarning("agents", absl::StrCat(what, " of host ", host_, ": too much waits for the database already"));
      }
      return;
    }
  }
  if (IsDone(retry)) return;
  MutexLock lock(mutex_);
  if (state_ != State::kOver && state_ != State::kEnding) retries_.push_back(std::move(retry));
}

void AgentSession::RunRetries() {
  while (true) {
    Retry retry;
    {
      MutexLock lock(mutex_);
      if (retries_.empty() || state_ == State::kOver || state_ == State::kEnding) break;
      retry = retries_.front();
    }
    if (!IsDone(retry)) break;
    MutexLock lock(mutex_);
    if (!retries_.empty()) retries_.pop_front();  // else Detach has come
  }
  MutexLock lock(mutex_);
  retrying_ = false;
}

bool AgentSession::IsDone(const Retry& retry) const {
  const absl::Status status = retry.work();
  if (status.code() == absl::StatusCode::kUnavailable) return false;
  if (!status.ok()) {
    LogWarning("agents", absl::StrCat(retry.what, " of host ", peer_.identity.id, ": ", std::string(status.message())));
  }
  return true;
}

void AgentSession::AdmitNow(const v1::Hello& hello) {
  {
    MutexLock lock(mutex_);
    if (state_ != State::kAdmitting) return;  // it has ended; a later session of this host may be live already
  }
  Admission admission = Admit(context_, peer_, hello, absl::Now());
  if (const v1::Refusal* refusal = std::get_if<v1::Refusal>(&admission)) {
    LogWarning("agents", absl::StrCat("refused the agent at ", peer_.address, ": ", refusal->message()));
    End(*refusal, StatusOf(*refusal));
    return;
  }
  Admitted& admitted = std::get<Admitted>(admission);
  const HostId host = peer_.identity.id;
  const std::string name = admitted.welcome.host_name();
  {
    MutexLock lock(mutex_);
    claimant_ = admitted.claimant;
    name_ = name;
    if (state_ == State::kAdmitting) {
      state_ = State::kLive;
      v1::CollectorMessage message;
      *message.mutable_welcome() = std::move(admitted.welcome);
      WriteLocked(std::move(message));
      for (v1::StartTask& start : admitted.reconciliation.start_again) WriteLocked(StartMessage(std::move(start)));
      for (const AttemptKey& key : admitted.reconciliation.cancel) WriteLocked(CancelMessage(key));
    }
  }
  throttled_ = context_.ingest.OverQuota(host) > absl::ZeroDuration();  // of its last session
  // Also if the stream has ended meanwhile: Detach's job, which follows on this thread, undoes it.
  if (const std::shared_ptr<AgentLink> former = context_.registry.Add(host, shared_from_this())) {
    former->End({}, absl::AbortedError("this agent has connected again"));
  }
  LogInfo("agents",
          absl::StrCat("host ", name, " connected from ", peer_.address, " (agent ", hello.agent_version(), ")"));
  if (hello.status().refuses_tasks_because().empty()) {
    context_.events.HostReady(host);
  } else {
    context_.events.HostRefuses(host, absl::Minutes(5));
  }
}

void AgentSession::MessageDone() {
  --waiting_;
  MutexLock lock(mutex_);
  if (port_ != nullptr && waiting_ <= kMostWaiting / 2) port_->Resume();
}

bool AgentSession::WasAdmitted() const {
  MutexLock lock(mutex_);
  return claimant_.has_value();
}

void AgentSession::Post(std::function<void()> job) { context_.workers.Post(peer_.identity.id, std::move(job)); }

// --- out
// --------------------------------------------------------------------------------------------------------------

bool AgentSession::WriteLocked(v1::CollectorMessage message) {
  if (port_ == nullptr) return false;
  if (port_->Write(std::move(message))) {
    sent_ns_ = SystemClock().MonotonicNs();
    return true;
  }
  LogWarning("agents", absl::StrCat("host ", host_, " does not read what it is sent; ending its session"));
  state_ = State::kEnding;
  port_->Cancel();
  return false;
}

absl::Status AgentSession::Send(v1::CollectorMessage message) {
  MutexLock lock(mutex_);
  if (state_ != State::kLive || !WriteLocked(std::move(message))) {
    return absl::UnavailableError(absl::StrCat("the session of host ", host_, " is over"));
  }
  return absl::OkStatus();
}

void AgentSession::End(const v1::Refusal& refusal, const absl::Status& status) {
  MutexLock lock(mutex_);
  EndLocked(refusal, status);
}

void AgentSession::EndLocked(const v1::Refusal& refusal, const absl::Status& status) {
  if (state_ == State::kEnding || state_ == State::kOver || port_ == nullptr) return;
  state_ = State::kEnding;
  ending_ns_ = SystemClock().MonotonicNs();
  if (refusal.reason() != v1::REFUSAL_REASON_UNSPECIFIED) {
    v1::CollectorMessage message;
    *message.mutable_refusal() = refusal;
    port_->Write(std::move(message));
  }
  port_->Finish(status);
}

void AgentSession::OnReadsEnded() {
  MutexLock lock(mutex_);
  EndLocked({}, absl::OkStatus());
}

void AgentSession::Detach() {
  {
    MutexLock lock(mutex_);
    port_ = nullptr;
    state_ = State::kOver;
    retries_.clear();
    if (host_.empty()) return;  // it never said who it is
  }
  Post([self = shared_from_this()] {
    std::optional<Claimant> claimant;
    HostId host;
    std::string name;
    {
      MutexLock lock(self->mutex_);
      claimant = std::exchange(self->claimant_, std::nullopt);
      host = self->host_;
      name = self->name_;
    }
    // A later session of the same agent has taken over registry and claim.
    if (!claimant.has_value() || !self->context_.registry.Remove(host, self.get())) return;
    LogInfo("agents", absl::StrCat("host ", name, " disconnected"));
    const absl::Status released = self->context_.hosts.ReleaseClaim(host, *claimant);
    if (!released.ok()) LogWarning("agents", absl::StrCat("release claim: ", std::string(released.message())));
  });
}

// --- time
// -------------------------------------------------------------------------------------------------------------

void AgentSession::Tick(int64_t now_ns) {
  if (throttled_ && context_.ingest.OverQuota(peer_.identity.id) == absl::ZeroDuration()) throttled_ = false;
  const int64_t heartbeat_ns = absl::ToInt64Nanoseconds(context_.heartbeat);
  bool retry = false;
  {
    MutexLock lock(mutex_);
    if (port_ == nullptr) return;
    const bool is_read = waiting_ <= kMostWaiting / 2 && !throttled_;
    if (is_read) port_->Resume();
    switch (state_) {
      case State::kHello:
        if (now_ns - started_ns_ > absl::ToInt64Nanoseconds(context_.hello_timeout)) {
          EndLocked({}, absl::DeadlineExceededError("no hello arrived"));
        }
        return;
      case State::kEnding:
        if (now_ns - ending_ns_ > 5 * kSecondNs) port_->Cancel();  // it does not read its last messages
        return;
      case State::kAdmitting:
      case State::kOver:
        return;
      case State::kLive:
        break;
    }
    // Silence means something only while we read.
    if (!is_read) heard_ns_ = now_ns;
    if (now_ns - heard_ns_ > 3 * heartbeat_ns) {
      LogWarning("agents", absl::StrCat("host ", name_, " has been silent for ", (now_ns - heard_ns_) / kSecondNs,
                                        " s; ending its session"));
      state_ = State::kEnding;
      ending_ns_ = now_ns;
      port_->Cancel();
      return;
    }
    if (now_ns - sent_ns_ >= heartbeat_ns) {
      v1::CollectorMessage message;
      message.mutable_heartbeat()->set_unix_seconds(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
      message.mutable_heartbeat()->set_number(++heartbeats_);
      WriteLocked(std::move(message));
    }
    // One job of them at a time: it may wait for the database for longer than it takes to come here again.
    if (!retries_.empty() && !retrying_ && now_ns - retry_ns_ > 2 * kSecondNs) {
      retry_ns_ = now_ns;
      retrying_ = retry = true;
    }
  }
  if (retry) Post([self = shared_from_this()] { self->RunRetries(); });
}

}  // namespace fleetmark::collector
