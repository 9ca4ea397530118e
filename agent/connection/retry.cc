#include "agent/connection/retry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fleetmark::agent {
namespace {

constexpr double kLongestWaitSeconds = 3600;
constexpr absl::Duration kLastingReason = absl::Minutes(1);
constexpr int64_t kSayAgainNs = int64_t{3600} * 1'000'000'000;

bool Lasts(v1::RefusalReason reason) {
  switch (reason) {
    case v1::REFUSAL_REASON_PROTOCOL:
    case v1::REFUSAL_REASON_REMOVED:
    case v1::REFUSAL_REASON_NOT_A_HOST:
      return true;
    default:
      return false;
  }
}

}  // namespace

Retry::Retry(std::vector<std::string> collectors, Backoff::Options backoff, Backoff::RandomSource random)
    : collectors_(std::move(collectors)), cap_(backoff.cap), backoff_(backoff, std::move(random)) {}

absl::Duration Retry::AfterFailure() {
  Advance();
  return backoff_.Next();
}

absl::Duration Retry::AfterSession(absl::Duration lasted) {
  if (lasted >= std::min(cap_, absl::Seconds(10))) backoff_.Reset();
  return backoff_.Next();
}

absl::Duration Retry::AfterRefusal(const v1::Refusal& refusal) {
  Advance();
  absl::Duration wait = backoff_.Next();
  if (refusal.has_retry_after_seconds() && std::isfinite(refusal.retry_after_seconds())) {
    // The jitter stays on top: refused together must not mean back together.
    wait += absl::Seconds(std::clamp(refusal.retry_after_seconds(), 0.0, kLongestWaitSeconds));
  } else if (Lasts(refusal.reason())) {
    wait += kLastingReason;
  }
  return wait;
}

bool SayOnce::IsNew(const std::string& text, int64_t now_ns) {
  if (text == last_ && now_ns - said_ns_ < kSayAgainNs) return false;
  last_ = text;
  said_ns_ = now_ns;
  return true;
}

}  // namespace fleetmark::agent
