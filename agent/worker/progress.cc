#include "agent/worker/progress.h"

#include <algorithm>
#include <cmath>

namespace fleetmark::agent {
namespace {

constexpr double kAlmostDone = 0.999;
constexpr double kPreparation = 0.2;
constexpr double kFractionThatTells = 0.05;
constexpr double kSecondsThatTell = 1;

}  // namespace

void ProgressEstimate::BeginPreparation(double now_seconds) {
  stage_ = Stage::kPreparing;
  start_seconds_ = stage_start_seconds_ = now_seconds;
}

void ProgressEstimate::BeginPass(double now_seconds) {
  stage_ = Stage::kPass;
  stage_start_seconds_ = now_seconds;
}

void ProgressEstimate::EndPass(double now_seconds) {
  stage_ = Stage::kIdle;
  passes_seconds_ += now_seconds - stage_start_seconds_;
  ++done_;
}

std::optional<double> ProgressEstimate::PassSeconds(double in_pass_seconds, double fraction) const {
  if (done_ > 0) return passes_seconds_ / done_;
  if (stage_ == Stage::kPass && fraction >= kFractionThatTells && in_pass_seconds >= kSecondsThatTell) {
    return in_pass_seconds / fraction;
  }
  return std::nullopt;
}

ProgressEstimate::Estimate ProgressEstimate::At(double now_seconds, double fraction) {
  const double part = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const double passes = std::max<double>(expected_, done_ + (stage_ == Stage::kPass ? 1 : 0));
  const double elapsed = std::max(0.0, now_seconds - start_seconds_);
  const double in_stage = std::max(0.0, now_seconds - stage_start_seconds_);
  Estimate estimate;
  double reached = 0;
  const std::optional<double> pass_seconds = PassSeconds(in_stage, part);
  if (pass_seconds.has_value()) {
    const double passes_left = passes - done_ - (stage_ == Stage::kPass ? part : 0);
    const double left = std::max(0.0, passes_left * *pass_seconds);
    estimate.seconds_left = left;
    reached = elapsed + left > 0 ? elapsed / (elapsed + left) : 0;
  } else {
    // Nothing measured yet: preparation counts as a fifth of a pass.
    const double units = stage_ == Stage::kPreparing ? kPreparation * part : kPreparation + part;
    reached = units / (kPreparation + passes);
  }
  shown_ = std::clamp(reached, shown_, std::max(shown_, kAlmostDone));
  estimate.fraction = shown_;
  return estimate;
}

}  // namespace fleetmark::agent
