#include "agent/workloads/host/host_clock.h"

#include <limits>

#include "agent/platform/usage.h"
#include "common/time/clock.h"

namespace fleetmark::agent {
namespace {

constexpr int64_t kHalfNs = 25'000'000;
constexpr unsigned kReadingsPerRound = 1000;  // 1000 readings take far less than a millisecond

v1::Measurement& AddMeasurement(v1::Repetition& repetition, const char* metric) {
  v1::Measurement& measurement = *repetition.add_measurements();
  measurement.set_metric(metric);
  measurement.set_unit(v1::UNIT_SECONDS);
  measurement.set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  return measurement;
}

class HostClock final : public Workload {
 public:
  absl::Status Prepare(WorkContext&) override { return absl::OkStatus(); }
  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override;
  void Cleanup(WorkContext&) override {}
};

absl::Status HostClock::RunOnce(WorkContext& context, v1::Repetition& repetition) {
  const Clock& clock = SystemClock();
  context.Report("reading the clock", 0, std::numeric_limits<double>::quiet_NaN(), v1::UNIT_SECONDS);

  UsageSnapshot begin = TakeUsage();
  uint64_t readings = 0;
  const int64_t start = clock.MonotonicNs();
  int64_t now = start;
  while (now - start < kHalfNs) {
    for (unsigned i = 0; i < kReadingsPerRound; ++i) now = clock.MonotonicNs();
    readings += kReadingsPerRound;
  }
  const double elapsed = static_cast<double>(now - start) * 1e-9;
  v1::Measurement& cost = AddMeasurement(repetition, "cost");
  cost.set_value(elapsed / static_cast<double>(readings));
  cost.set_elapsed_seconds(elapsed);
  cost.set_operations(static_cast<double>(readings));
  SetCost(UsageBetween(begin, TakeUsage(), 0), 1, cost);
  if (context.cancelled()) return absl::CancelledError("cancelled");

  // Two equal readings lie within one step; a clock that goes backwards has no step there (C-018).
  begin = TakeUsage();
  int64_t smallest = std::numeric_limits<int64_t>::max();
  uint64_t steps = 0;
  const int64_t second_start = clock.MonotonicNs();
  int64_t before = second_start;
  while (before - second_start < kHalfNs) {
    const int64_t after = clock.MonotonicNs();
    if (after > before) {
      smallest = after - before < smallest ? after - before : smallest;
      ++steps;
    }
    before = after;
  }
  v1::Measurement& step = AddMeasurement(repetition, "step");
  step.set_elapsed_seconds(static_cast<double>(before - second_start) * 1e-9);
  step.set_operations(static_cast<double>(steps));
  SetCost(UsageBetween(begin, TakeUsage(), 0), 1, step);
  if (steps > 0) {
    step.set_value(static_cast<double>(smallest) * 1e-9);
  } else {
    step.set_missing_reason("the clock did not move");
  }
  return context.cancelled() ? absl::CancelledError("cancelled") : absl::OkStatus();
}

v1::WorkloadDescriptor MakeDescriptor() {
  v1::WorkloadDescriptor descriptor;
  descriptor.set_name("host.clock");
  descriptor.set_version(1);
  descriptor.set_description("Cost of reading the monotonic clock, and its smallest step; 50 ms.");
  descriptor.mutable_repetition_rule()->set_exactly(1);
  const auto add = [&](const char* name, const char* description) {
    v1::MetricDescriptor& metric = *descriptor.add_metrics();
    metric.set_name(name);
    metric.set_description(description);
    metric.set_unit(v1::UNIT_SECONDS);
    metric.set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  };
  add("cost", "One reading of the monotonic clock, on average.");
  add("step", "The smallest difference of two readings in a row that is not zero.");
  return descriptor;
}

}  // namespace

const WorkloadEntry& HostClockEntry() {
  static const WorkloadEntry& entry =
      *new WorkloadEntry{MakeDescriptor(), [] { return std::make_unique<HostClock>(); }};
  return entry;
}

}  // namespace fleetmark::agent
