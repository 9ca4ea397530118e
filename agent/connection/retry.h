// Retry: which collector to try next, and when. Pure bookkeeping; the link's thread owns it.
//
// One backoff with full jitter for everything (1 s to 30 s by default); a list of collectors is walked round. Only a
// connection that lasted resets the backoff: one that is welcomed and dropped at once must not be a hot loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/time/backoff.h"
#include "fleetmark/v1/agent.pb.h"

namespace fleetmark::agent {

class Retry {
 public:
  // REQUIRES: at least one address.
  Retry(std::vector<std::string> collectors, Backoff::Options backoff, Backoff::RandomSource random);

  const std::string& address() const { return collectors_[index_]; }

  // Each returns how long to wait before the next try.
  absl::Duration AfterFailure();                            // not reached, or reached and lost before it was welcome
  absl::Duration AfterSession(absl::Duration lasted);       // welcomed, then lost: the same collector first
  absl::Duration AfterRefusal(const v1::Refusal& refusal);  // what it asks for; a lasting reason waits a minute or more

  // The machine slept, or the network came back: at once, and from the small waits on.
  void Reset() { backoff_.Reset(); }

 private:
  void Advance() { index_ = (index_ + 1) % collectors_.size(); }

  const std::vector<std::string> collectors_;
  const absl::Duration cap_;
  size_t index_ = 0;
  Backoff backoff_;
};

// Says each thing once: true if `text` about `subject` was not said last, or an hour ago.
class SayOnce {
 public:
  bool IsNew(const std::string& text, int64_t now_ns);
  void Forget() { last_.clear(); }

 private:
  std::string last_;
  int64_t said_ns_ = 0;
};

}  // namespace fleetmark::agent
