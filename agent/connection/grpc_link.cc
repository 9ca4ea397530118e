#include "agent/connection/grpc_link.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"
#include "common/pki/identity.h"
#include "common/rpc/credentials.h"
#include "common/rpc/diagnose.h"
#include "common/rpc/status.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr absl::Duration kFriendlyEnd = absl::Milliseconds(500);
constexpr absl::Duration kDiagnosis = absl::Seconds(1);
constexpr absl::Duration kLongestKeepalive = absl::Minutes(5);

bool PingsTooOften(const grpc::Status& status) {
  return absl::StrContains(status.error_message(), "too_many_pings") ||
         absl::StrContains(status.error_message(), "Too many pings") ||
         absl::StrContains(status.error_message(), "ENHANCE_YOUR_CALM");
}

// The collector's (or another server's) word that trying again soon will not help.
bool IsLasting(absl::StatusCode code) {
  return code == absl::StatusCode::kUnimplemented || code == absl::StatusCode::kPermissionDenied ||
         code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kInvalidArgument;
}

std::string Text(const absl::Status& status) { return EscapeForTerminal(std::string(status.message())); }

}  // namespace

std::unique_ptr<AgentLink> AgentLink::Create(Options options, Dependencies dependencies) {
  return std::make_unique<GrpcLink>(std::move(options), std::move(dependencies));
}

GrpcLink::GrpcLink(Options options, Dependencies dependencies)
    : options_(std::move(options)),
      listener_(*dependencies.listener),
      clock_(dependencies.clock != nullptr ? *dependencies.clock : SystemClock()),
      retry_(options_.collectors, options_.backoff,
             dependencies.random ? std::move(dependencies.random) : Backoff::SystemRandom()),
      transfer_(options_.transfer),
      renewal_(options_.identity, clock_),
      keepalive_(options_.keepalive) {
  slept_ns_ = clock_.BootNs() - clock_.MonotonicNs();
}

GrpcLink::~GrpcLink() { assert(!thread_.joinable()); }

void GrpcLink::Start() {
  thread_ = std::thread([this] { Run(); });
}

void GrpcLink::Send(v1::AgentMessage message) {
  if (outgoing_.Add(std::move(message))) return Wake();
  StartOver("it reads too slowly: too many messages wait for it");
}

void GrpcLink::StartOver(std::string reason) {
  MutexLock lock(mutex_);
  start_over_ = std::move(reason);
  woken_ = true;
  changed_.NotifyAll();
}

void GrpcLink::OfferProgress(const v1::Progress& progress) {
  // One that replaces another needs no wake: the link knows when the next may go.
  if (!outgoing_.OfferProgress(progress)) return;
  Wake();
}

void GrpcLink::EndProgress(int64_t task_id, uint32_t attempt) { outgoing_.DropProgress(task_id, attempt); }

void GrpcLink::RecordsAvailable() {
  MutexLock lock(mutex_);
  records_available_ = true;
  all_acknowledged_ = false;
  woken_ = true;
  changed_.NotifyAll();
}

void GrpcLink::Wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyAll();
}

bool GrpcLink::connected() const {
  MutexLock lock(mutex_);
  return connected_;
}

bool GrpcLink::stopping() const {
  MutexLock lock(mutex_);
  return stop_;
}

bool GrpcLink::Drain(absl::Duration deadline) {
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(deadline);
  RecordsAvailable();
  MutexLock lock(mutex_);
  while (connected_ && !all_acknowledged_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) break;
    changed_.WaitFor(mutex_, left);
  }
  return all_acknowledged_;
}

std::string GrpcLink::Shutdown(absl::Duration deadline) {
  if (!thread_.joinable()) return "";
  {
    MutexLock lock(mutex_);
    stop_ = true;
    stop_deadline_ns_ = clock_.MonotonicNs() + absl::ToInt64Nanoseconds(deadline);
    woken_ = true;
    changed_.NotifyAll();
  }
  // The thread ends by itself: a stream that does not close in time is cancelled, and gRPC ends cancelled streams.
  thread_.join();
  return "";
}

void GrpcLink::OnEvent(SessionEvent event) {
  MutexLock lock(mutex_);
  events_.push_back(std::move(event));
  changed_.NotifyAll();
}

void GrpcLink::Run() {
  SetThreadName("link");
  while (!stopping()) {
    const std::string address = retry_.address();
    const End end = Try(address);
    if (stopping()) break;
    const absl::Duration wait = Plan(end);
    Tell(address, end, wait);
    WaitForRetry(wait);
  }
}

GrpcLink::End GrpcLink::Try(const std::string& address) {
  End end;
  absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(options_.identity);
  if (!material.ok()) {
    end.status = material.status();
    end.lasting = true;
    return end;
  }
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(material->certificate_chain_pem);
  end.status = identity.ok() ? CheckValidity(*material, clock_.Now()) : identity.status();
  if (!end.status.ok()) {
    end.lasting = true;
    return end;
  }
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(address, *material, keepalive_);
  if (!channel.ok()) {
    end.status = channel.status();
    end.lasting = true;
    return end;
  }
  end.material = std::make_shared<TlsMaterial>(*std::move(material));

  outgoing_.Clear();
  {
    MutexLock lock(mutex_);
    start_over_.clear();
  }
  Session session(*channel, *this);
  Conversation conversation({session, transfer_, outgoing_, listener_, clock_, options_, address});
  v1::Hello hello = listener_.MakeHello();
  hello.set_host_id(identity->id);
  conversation.Begin(std::move(hello));
  Converse(session, conversation, *end.material, end);
  return Judge(conversation, std::move(end));
}

// Until the stream is done. Everything that must not happen in gRPC's threads happens here.
void GrpcLink::Converse(Session& session, Conversation& conversation, const TlsMaterial& material, End& end) {
  bool told_connected = false;
  std::optional<int64_t> cancel_at_ns;
  while (true) {
    std::deque<SessionEvent> events;
    std::string start_over;
    bool stop = false;
    {
      MutexLock lock(mutex_);
      events.swap(events_);
      woken_ = false;
      if (std::exchange(records_available_, false)) conversation.RecordsAvailable();
      start_over.swap(start_over_);
      stop = stop_;
    }
    if (SleptSinceLastLook() && !end.resumed) {
      end.resumed = true;
      conversation.Abort("this machine slept");
    }
    for (const SessionEvent& event : events) conversation.OnEvent(event);
    if (conversation.done()) break;
    if (!start_over.empty()) conversation.Abort(std::move(start_over));
    conversation.OnTime();
    conversation.Pump();
    if (conversation.welcomed()) {
      told_connected = true;
      renewal_.Look(session.stub(), material, listener_);
    }
    const int64_t now = clock_.MonotonicNs();
    if (stop && !cancel_at_ns) {
      conversation.Close();
      cancel_at_ns = now + absl::ToInt64Nanoseconds(kFriendlyEnd);
    }
    if (cancel_at_ns && now >= *cancel_at_ns) {
      conversation.Abort("this agent stops");
      cancel_at_ns = INT64_MAX;
    }
    {
      MutexLock lock(mutex_);
      connected_ = told_connected;
      all_acknowledged_ = conversation.all_acknowledged() && !records_available_;
      if (cancel_at_ns) *cancel_at_ns = std::min(*cancel_at_ns, std::max(stop_deadline_ns_, now));
      changed_.NotifyAll();
    }
    WaitUntil(std::min(conversation.Deadline(), cancel_at_ns.value_or(INT64_MAX)));
  }
  {
    MutexLock lock(mutex_);
    events_.clear();
    connected_ = false;
    all_acknowledged_ = false;
    changed_.NotifyAll();
  }
  if (told_connected) listener_.OnDisconnect();
}

GrpcLink::End GrpcLink::Judge(const Conversation& conversation, End end) {
  end.welcomed = conversation.welcomed();
  end.lasted = conversation.lasted();
  end.refusal = conversation.refusal();
  end.status = FromGrpcStatus(conversation.status());
  if (!conversation.abort_reason().empty()) {
    end.status = absl::CancelledError(conversation.abort_reason());
    end.material = nullptr;
  } else if (absl::IsResourceExhausted(end.status) && end.welcomed) {
    transfer_.OnTooLarge();
  } else if (PingsTooOften(conversation.status())) {
    keepalive_ = std::min(keepalive_ * 2, kLongestKeepalive);
    end.status = absl::UnavailableError(absl::StrCat("it found this agent's pings too frequent; they come every ",
                                                     absl::FormatDuration(keepalive_), " from now on"));
    end.material = nullptr;
  } else if (end.status.ok()) {
    end.status = absl::UnavailableError("it ended the stream");
  }
  end.lasting = !end.welcomed && (conversation.abort_is_lasting() || IsLasting(end.status.code()));
  return end;
}

absl::Duration GrpcLink::Plan(const End& end) {
  if (end.resumed) {
    retry_.Reset();
    return retry_.AfterSession(absl::ZeroDuration());
  }
  if (end.refusal) return retry_.AfterRefusal(*end.refusal);
  if (end.lasting) {
    v1::Refusal refusal;
    refusal.set_reason(v1::REFUSAL_REASON_NOT_A_HOST);
    return retry_.AfterRefusal(refusal);
  }
  return end.welcomed ? retry_.AfterSession(end.lasted) : retry_.AfterFailure();
}

// One line for each new reason, not one a try.
void GrpcLink::Tell(const std::string& address, const End& end, absl::Duration wait) {
  SayOnce& said = said_[address];
  if (end.welcomed) said.Forget();
  const std::string next = absl::StrFormat("; next try in %.1f s", absl::ToDoubleSeconds(wait));
  std::string what = end.refusal ? end.refusal->message() : std::string(end.status.message());
  if (!said.IsNew(what, clock_.MonotonicNs())) return;
  if (end.refusal) {
    LogWarning("link", absl::StrCat("refused by ", address, ": ", EscapeForTerminal(what), next));
    return;
  }
  if (end.welcomed) {
    LogWarning("link", absl::StrCat("connection to ", address, " lost after ",
                                    absl::StrFormat("%.0f s", absl::ToDoubleSeconds(end.lasted)), ": ",
                                    Text(end.status), next));
    said.Forget();
    return;
  }
  if (end.material != nullptr) {
    const absl::Status explained = ExplainUnavailable(end.status, address, *end.material, kDiagnosis);
    if (explained.message() != end.status.message()) {
      LogWarning("link", absl::StrCat(Text(explained), next));
      return;
    }
  }
  LogWarning("link", absl::StrCat("no connection to ", address, ": ", Text(end.status), next));
}

void GrpcLink::WaitForRetry(absl::Duration wait) {
  const int64_t until = clock_.MonotonicNs() + absl::ToInt64Nanoseconds(wait);
  while (true) {
    {
      MutexLock lock(mutex_);
      if (stop_) return;
      woken_ = false;
    }
    if (SleptSinceLastLook()) {
      retry_.Reset();
      return;
    }
    if (clock_.MonotonicNs() >= until) return;
    WaitUntil(until);
  }
}

void GrpcLink::WaitUntil(int64_t deadline_ns) {
  const int64_t now = clock_.MonotonicNs();
  const int64_t nap = absl::ToInt64Nanoseconds(options_.longest_nap);
  if (deadline_ns <= now) return;
  const int64_t longest = std::min(nap, deadline_ns - now);
  MutexLock lock(mutex_);
  if (!events_.empty() || woken_) return;
  changed_.WaitFor(mutex_, std::chrono::nanoseconds(longest));
}

bool GrpcLink::SleptSinceLastLook() {
  const int64_t slept = clock_.BootNs() - clock_.MonotonicNs();
  const int64_t before = std::exchange(slept_ns_, slept);
  return slept - before > absl::ToInt64Nanoseconds(options_.resume_threshold);
}

}  // namespace fleetmark::agent
