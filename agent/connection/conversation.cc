#include "agent/connection/conversation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/log/log.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr double kClockOffsetWorthTelling = 60;

double UnixSeconds(const Clock& clock) { return absl::ToDoubleSeconds(clock.Now() - absl::UnixEpoch()); }

bool WorthTelling(const v1::AgentStatus& now, const v1::AgentStatus& before) {
  return now.refuses_tasks_because() != before.refuses_tasks_because() ||
         now.spooled_records() != before.spooled_records() ||
         now.spool_capacity_bytes() != before.spool_capacity_bytes();
}

}  // namespace

void Conversation::Begin(v1::Hello hello) {
  begun_ns_ = last_received_ns_ = parts_.clock.MonotonicNs();
  parts_.transfer.Restart();
  hello.set_protocol_minimum(kProtocolMinimum);
  hello.set_protocol_maximum(kProtocolMaximum);
  hello.set_unix_seconds(UnixSeconds(parts_.clock));
  last_status_ = hello.status();
  v1::AgentMessage message;
  *message.mutable_hello() = std::move(hello);
  parts_.session.Start();
  parts_.session.Write(std::move(message));
}

void Conversation::OnEvent(const SessionEvent& event) {
  switch (event.kind) {
    case SessionEvent::Kind::kMessage:
      last_received_ns_ = parts_.clock.MonotonicNs();
      if (!cancelled_) OnMessage(event.message);
      parts_.session.Read();
      break;
    case SessionEvent::Kind::kWritten:
      // A failed write means that the stream is broken; its end and status follow by themselves.
      parts_.session.OnWritten();
      break;
    case SessionEvent::Kind::kReadEnded:
      read_ended_ = true;
      parts_.session.OnReadEnded();
      break;
    case SessionEvent::Kind::kDone:
      ended_ns_ = parts_.clock.MonotonicNs();
      final_status_ = event.status;
      break;
  }
}

void Conversation::OnMessage(const v1::CollectorMessage& message) {
  if (!welcomed() && message.kind_case() != v1::CollectorMessage::kWelcome &&
      message.kind_case() != v1::CollectorMessage::kRefusal) {
    Abort("it sent something before its welcome");
    return;
  }
  switch (message.kind_case()) {
    case v1::CollectorMessage::kWelcome:
      OnWelcome(message.welcome());
      break;
    case v1::CollectorMessage::kRefusal:
      refusal_ = message.refusal();
      if (refusal_->reason() == v1::REFUSAL_REASON_REMOVED) parts_.listener.OnRemoved();
      cancelled_ = true;
      parts_.session.Cancel();
      break;
    case v1::CollectorMessage::kStart:
      parts_.listener.OnStartTask(message.start());
      break;
    case v1::CollectorMessage::kCancel:
      parts_.listener.OnCancelTask(message.cancel());
      break;
    case v1::CollectorMessage::kAck:
      OnAck(message.ack());
      break;
    case v1::CollectorMessage::kHold:
      LogInfo("link", absl::StrCat(parts_.name, " asks to hold results back for ",
                                   absl::StrFormat("%.0f s: ", message.hold().seconds()),
                                   EscapeForTerminal(message.hold().reason())));
      parts_.transfer.OnHold(message.hold().seconds(), last_received_ns_);
      more_records_ = true;
      break;
    case v1::CollectorMessage::kProgressRate:
      parts_.outgoing.SetProgressRate(message.progress_rate().per_second());
      break;
    case v1::CollectorMessage::kHeartbeat:
    case v1::CollectorMessage::KIND_NOT_SET:  // of a newer collector: it does not expect an answer we do not know
      break;
  }
}

void Conversation::OnWelcome(const v1::Welcome& welcome) {
  if (welcomed()) return;
  if (welcome.protocol() < kProtocolMinimum || welcome.protocol() > kProtocolMaximum) {
    Abort(absl::StrCat("it chose protocol ", welcome.protocol(), ", and this agent speaks ", kProtocolMinimum, " to ",
                       kProtocolMaximum, "; install an agent that fits collector ",
                       EscapeForTerminal(welcome.collector_version())),
          /*lasting=*/true);
    return;
  }
  const double asked = welcome.heartbeat_seconds();
  const absl::Duration heartbeat = std::isfinite(asked) && asked > 0 ? absl::Seconds(asked) : absl::Seconds(10);
  heartbeat_ns_ =
      absl::ToInt64Nanoseconds(std::clamp(heartbeat, parts_.options.least_heartbeat, parts_.options.most_heartbeat));
  welcomed_ns_ = last_received_ns_;
  next_beat_ns_ = last_received_ns_ + heartbeat_ns_;
  LogInfo("link",
          absl::StrCat("connected to ", parts_.name, " (fleetmark ", EscapeForTerminal(welcome.collector_version()),
                       "), known there as ", EscapeForTerminal(welcome.host_name())));
  const double ahead = UnixSeconds(parts_.clock) - welcome.unix_seconds();
  if (welcome.unix_seconds() > 0 && std::abs(ahead) > kClockOffsetWorthTelling) {
    LogWarning("link", absl::StrFormat("this machine's clock is %.0f s %s the collector's; is it set?", std::abs(ahead),
                                       ahead > 0 ? "ahead of" : "behind"));
  }
  parts_.transfer.LimitBatch(welcome.largest_batch_bytes());
  parts_.listener.OnWelcome(welcome);
}

void Conversation::OnAck(const v1::Ack& ack) {
  const absl::Status status = parts_.listener.Acknowledge(ack);
  if (!status.ok() && !odd_ack_told_) {
    odd_ack_told_ = true;
    LogWarning("link",
               absl::StrCat("an acknowledgement of ", parts_.name, " had no effect: ", std::string(status.message())));
  }
  // One for more than there is says nothing about what there is.
  if (absl::IsOutOfRange(status)) return;
  parts_.transfer.OnAck(ack, last_received_ns_);
}

void Conversation::OnTime() {
  const int64_t now = parts_.clock.MonotonicNs();
  if (cancelled_ || done()) return;
  if (!welcomed()) {
    if (now - begun_ns_ >= absl::ToInt64Nanoseconds(parts_.options.welcome_deadline)) {
      Abort(absl::StrCat("no answer within ", absl::FormatDuration(parts_.options.welcome_deadline)));
    }
    return;
  }
  if (now - last_received_ns_ >= 3 * heartbeat_ns_) {
    Abort(absl::StrCat("nothing heard for ", absl::FormatDuration(absl::Nanoseconds(3 * heartbeat_ns_)),
                       ": the connection is dead"));
    return;
  }
  if (parts_.transfer.AckIsOverdue(now)) {
    Abort("results were sent and not acknowledged for too long");
    return;
  }
  if (now >= next_beat_ns_) Beat(now);
}

void Conversation::Beat(int64_t now_ns) {
  // From the present, not from the beat before: after a stop of the process no burst follows.
  next_beat_ns_ = now_ns + heartbeat_ns_;
  if (read_failed_) more_records_ = true;
  read_failed_ = false;

  v1::AgentStatus status = parts_.listener.OnHeartbeat();
  v1::AgentMessage beat;
  beat.mutable_heartbeat()->set_unix_seconds(UnixSeconds(parts_.clock));
  beat.mutable_heartbeat()->set_number(++beats_);
  bool added = parts_.outgoing.Add(std::move(beat));
  if (WorthTelling(status, last_status_)) {
    last_status_ = status;
    v1::AgentMessage news;
    *news.mutable_status() = std::move(status);
    added = parts_.outgoing.Add(std::move(news)) && added;
  }
  if (!added) Abort("it reads too slowly: too many messages wait for it");
}

void Conversation::Pump() {
  if (!welcomed() || !MayWrite()) return;
  const int64_t now = parts_.clock.MonotonicNs();
  if (std::optional<v1::AgentMessage> message = parts_.outgoing.Next(now)) {
    parts_.session.Write(*std::move(message));
    return;
  }
  if (!more_records_) return;
  const std::optional<Transfer::Want> want = parts_.transfer.Next(now);
  if (!want) return;
  absl::StatusOr<Spool::Batch> batch = parts_.listener.ReadRecords(want->after_position, want->max_bytes);
  if (!batch.ok()) {
    more_records_ = false;
    read_failed_ = true;
    return;
  }
  if (batch->records.empty()) {
    more_records_ = false;
    return;
  }
  v1::AgentMessage message;
  *message.mutable_records() = parts_.transfer.Take(*std::move(batch), now);
  parts_.session.Write(std::move(message));
}

void Conversation::Close() {
  if (closing_ || cancelled_ || read_ended_) return;
  if (!welcomed() || parts_.session.writing()) {
    Abort("this agent stops");
    return;
  }
  closing_ = true;
  parts_.session.CloseWrites();
}

void Conversation::Abort(std::string reason, bool lasting) {
  if (cancelled_) return;
  abort_is_lasting_ = lasting;
  cancelled_ = true;
  abort_reason_ = std::move(reason);
  parts_.session.Cancel();
}

int64_t Conversation::Deadline() const {
  if (cancelled_) return INT64_MAX;
  if (!welcomed()) return begun_ns_ + absl::ToInt64Nanoseconds(parts_.options.welcome_deadline);
  int64_t deadline = std::min(next_beat_ns_, last_received_ns_ + 3 * heartbeat_ns_);
  if (const auto transfer = parts_.transfer.Deadline(parts_.clock.MonotonicNs()))
    deadline = std::min(deadline, *transfer);
  if (MayWrite()) {
    if (const auto due = parts_.outgoing.Due()) deadline = std::min(deadline, *due);
  }
  return deadline;
}

absl::Duration Conversation::lasted() const {
  return welcomed_ns_ ? absl::Nanoseconds(ended_ns_ - *welcomed_ns_) : absl::ZeroDuration();
}

}  // namespace fleetmark::agent
