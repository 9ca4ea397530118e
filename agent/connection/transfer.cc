#include "agent/connection/transfer.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::agent {
namespace {

constexpr size_t kSmallestBatch = 1024;
constexpr double kLongestHoldSeconds = 600;

}  // namespace

void Transfer::Restart() {
  position_ = 0;
  in_flight_.clear();
  in_flight_bytes_ = 0;
  hold_until_ns_.reset();
}

void Transfer::LimitBatch(size_t bytes) { asked_bytes_ = bytes == 0 ? SIZE_MAX : std::max(kSmallestBatch, bytes); }

std::optional<Transfer::Want> Transfer::Next(int64_t now_ns) const {
  if (hold_until_ns_ && now_ns < *hold_until_ns_) return std::nullopt;
  if (in_flight_bytes_ >= options_.window_bytes) return std::nullopt;
  if (one_by_one_ && !in_flight_.empty()) return std::nullopt;
  return Want{position_, std::min(batch_bytes_, asked_bytes_)};
}

v1::RecordBatch Transfer::Take(Spool::Batch batch, int64_t now_ns) {
  hold_until_ns_.reset();
  if (in_flight_.empty()) last_ack_ns_ = now_ns;
  v1::RecordBatch message;
  for (size_t i = 0; i < batch.records.size(); ++i) {
    v1::Record& record = batch.records[i];
    if (given_up_.contains(batch.positions[i])) record.clear_kind();
    const size_t bytes = record.ByteSizeLong();
    in_flight_.push_back(
        {record.id().task_id(), record.id().attempt(), record.id().sequence(), batch.positions[i], bytes, now_ns});
    in_flight_bytes_ += bytes;
    position_ = batch.positions[i];
    *message.add_records() = std::move(record);
  }
  return message;
}

void Transfer::OnAck(const v1::Ack& ack, int64_t now_ns) {
  hold_until_ns_.reset();
  const size_t before = in_flight_.size();
  std::erase_if(in_flight_, [&](const Sent& sent) {
    if (sent.task_id != ack.task_id() || sent.attempt != ack.attempt() || sent.sequence > ack.sequence()) return false;
    in_flight_bytes_ -= sent.bytes;
    given_up_.erase(sent.position);
    return true;
  });
  if (in_flight_.size() != before) last_ack_ns_ = now_ns;
}

void Transfer::OnHold(double seconds, int64_t now_ns) {
  const double bounded = std::isfinite(seconds) ? std::clamp(seconds, 0.0, kLongestHoldSeconds) : kLongestHoldSeconds;
  Restart();
  hold_until_ns_ = now_ns + static_cast<int64_t>(bounded * 1e9);
}

void Transfer::OnTooLarge() {
  if (in_flight_.empty()) return;
  // Of several messages under way any may have been the one; of one by one it is known.
  if (one_by_one_ && in_flight_.size() == 1) given_up_.insert(in_flight_.back().position);
  one_by_one_ = true;
  batch_bytes_ = std::max(kSmallestBatch, std::min(batch_bytes_, asked_bytes_) / 2);
}

bool Transfer::AckIsOverdue(int64_t now_ns) const {
  if (in_flight_.empty()) return false;
  return now_ns >= std::max(in_flight_.front().at_ns, last_ack_ns_) + options_.ack_deadline_ns;
}

std::optional<int64_t> Transfer::Deadline(int64_t now_ns) const {
  if (!in_flight_.empty()) return std::max(in_flight_.front().at_ns, last_ack_ns_) + options_.ack_deadline_ns;
  if (hold_until_ns_ && *hold_until_ns_ > now_ns) return hold_until_ns_;
  return std::nullopt;
}

}  // namespace fleetmark::agent
