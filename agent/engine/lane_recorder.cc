#include "agent/engine/lane_recorder.h"

#include <cmath>

namespace fleetmark::agent {
namespace {

// A device that stalls stretches the window: room for twice the plan and a minute; the rest falls into the last
// interval.
constexpr double kSpareSeconds = 60;

}  // namespace

LaneRecorder::LaneRecorder(const IoJob& job) : clock_(TickClock::Get()) {
  if (job.reads()) histograms_[0] = std::make_unique<LatencyHistogram>();
  if (job.writes()) histograms_[1] = std::make_unique<LatencyHistogram>();
  const double seconds = 2 * job.run_seconds + kSpareSeconds;
  intervals_.resize(static_cast<size_t>(std::ceil(seconds * 1e9 / static_cast<double>(kIntervalNs))), 0);
  interval_ticks_ = clock_.FromNs(kIntervalNs);
}

void LaneRecorder::SetWindow(uint64_t start, uint64_t ramp_end, uint64_t length, bool shared) noexcept {
  ramp_end_ = ramp_end;
  run_end_ = ramp_end + length;
  length_ = length;
  shared_ = shared;
  interval_end_ = ramp_end + interval_ticks_;
  now_ = start;
  if (shared) {
    open_ = true;
    begin_ = ramp_end;
    end_ = run_end_;
  } else if (ramp_end == start) {  // no ramp: the window opens with the job
    open_ = true;
    begin_ = start;
  }
}

}  // namespace fleetmark::agent
