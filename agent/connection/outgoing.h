// Outgoing: messages that wait for their turn on the stream, besides records. Thread-safe; no call waits.
//
// Bounded: answers by a limit, progress by one message a task (the newest wins).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "common/sync/mutex.h"
#include "fleetmark/v1/agent.pb.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

class Outgoing {
 public:
  // False: too many wait. The stream is then torn down by its owner; after the next hello both sides agree again.
  bool Add(v1::AgentMessage message);

  // False: it replaced one that still waited.
  bool OfferProgress(const v1::Progress& progress);
  // Of a task that ended: it must not follow its records.
  void DropProgress(int64_t task_id, uint32_t attempt);
  void SetProgressRate(double per_second);  // clamped to 0.1 .. 5

  std::optional<v1::AgentMessage> Next(int64_t now_ns);
  // When Next has something to give; nullopt: when something is added. 0: now.
  std::optional<int64_t> Due() const;

  void Clear();  // what was meant for the old stream; the newest progress stays

 private:
  static constexpr size_t kMostMessages = 256;

  mutable Mutex mutex_;
  std::deque<v1::AgentMessage> messages_ GUARDED_BY(mutex_);
  std::map<std::pair<int64_t, uint32_t>, v1::Progress> progress_ GUARDED_BY(mutex_);
  int64_t progress_interval_ns_ GUARDED_BY(mutex_) = 1'000'000'000;  // nobody watches
  int64_t next_progress_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetmark::agent
