// RecordingLink: a session in the registry that keeps what it is sent and how it is ended. Thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "collector/registry/agent_link.h"
#include "common/sync/mutex.h"

namespace fleetmark::test {

class RecordingLink : public collector::AgentLink {
 public:
  absl::Status Send(v1::CollectorMessage message) override {
    MutexLock lock(mutex_);
    if (end_) return absl::UnavailableError("the session is over");
    sent_.push_back(std::move(message));
    return absl::OkStatus();
  }
  void End(const v1::Refusal& refusal, const absl::Status& status) override {
    MutexLock lock(mutex_);
    if (!end_) end_ = {refusal, status};
  }

  struct Ended {
    v1::Refusal refusal;
    absl::Status status;
  };
  std::vector<v1::CollectorMessage> sent() const {
    MutexLock lock(mutex_);
    return sent_;
  }
  std::optional<Ended> end() const {
    MutexLock lock(mutex_);
    return end_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<v1::CollectorMessage> sent_ GUARDED_BY(mutex_);
  std::optional<Ended> end_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::test
