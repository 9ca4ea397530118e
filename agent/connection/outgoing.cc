#include "agent/connection/outgoing.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::agent {

bool Outgoing::Add(v1::AgentMessage message) {
  MutexLock lock(mutex_);
  if (messages_.size() >= kMostMessages) return false;
  messages_.push_back(std::move(message));
  return true;
}

bool Outgoing::OfferProgress(const v1::Progress& progress) {
  MutexLock lock(mutex_);
  return progress_.insert_or_assign({progress.task_id(), progress.attempt()}, progress).second;
}

void Outgoing::DropProgress(int64_t task_id, uint32_t attempt) {
  MutexLock lock(mutex_);
  progress_.erase({task_id, attempt});
}

void Outgoing::SetProgressRate(double per_second) {
  MutexLock lock(mutex_);
  const double rate = std::isfinite(per_second) ? std::clamp(per_second, 0.1, 5.0) : 1.0;
  progress_interval_ns_ = static_cast<int64_t>(1e9 / rate);
  next_progress_ns_ = 0;
}

std::optional<v1::AgentMessage> Outgoing::Next(int64_t now_ns) {
  MutexLock lock(mutex_);
  if (!messages_.empty()) {
    v1::AgentMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  if (progress_.empty() || now_ns < next_progress_ns_) return std::nullopt;
  v1::AgentMessage message;
  *message.mutable_progress() = std::move(progress_.begin()->second);
  progress_.erase(progress_.begin());
  next_progress_ns_ = now_ns + progress_interval_ns_;
  return message;
}

std::optional<int64_t> Outgoing::Due() const {
  MutexLock lock(mutex_);
  if (!messages_.empty()) return 0;
  if (!progress_.empty()) return next_progress_ns_;
  return std::nullopt;
}

void Outgoing::Clear() {
  MutexLock lock(mutex_);
  messages_.clear();
}

}  // namespace fleetmark::agent
