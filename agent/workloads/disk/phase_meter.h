// PhaseMeter: what a timed phase really cost and moved, beside what it asked for, and the flags that follow.
//
// Open, Start, Stop, then Describe; one phase at a time, one thread at a time. Start and Stop read a few files of /proc
// and /sys: call them next to the clock, outside of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/platform/storage_stack.h"
#include "agent/platform/usage.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// Above this share of bytes that the device did not move, a value is flagged.
inline constexpr double kFlaggedFraction = 0.05;

// What the phase did, as the workload knows it.
struct PhaseFacts {
  double elapsed_seconds = 0;
  uint64_t asked_bytes = 0;  // within elapsed_seconds
  uint64_t operations = 0;
  uint64_t metered_read_bytes = 0;  // returned between Start and Stop
  uint64_t metered_written_bytes = 0;
  uint64_t asked_before_start_bytes = 0;  // of these, at most: asked before Start, and in flight there
  std::optional<double> planned_seconds;  // time-based phases
};

class PhaseMeter {
 public:
  // `idle_baseline_cpus`: see MeasureIdleBaseline.
  PhaseMeter(const StorageStack& stack, double idle_baseline_cpus);

  // Before the phase: the file it will use, for its residency in the page cache. fd -1: none.
  void Open(int fd, uint64_t bytes);
  void Start();
  void Stop();

  // Everything of a Measurement but metric, unit, value and histogram. Without operations: a missing_reason.
  void Describe(const PhaseFacts& facts, v1::Measurement& measurement);

  bool memory_backed() const { return counters_.memory_backed(); }
  const StackCounters& counters() const { return counters_; }

 private:
  void DescribeForeign(const PhaseFacts& facts, const Usage& usage, v1::Measurement& measurement) const;

  StackCounters counters_;
  double idle_baseline_cpus_;
  int fd_ = -1;
  uint64_t file_bytes_ = 0;
  std::optional<double> residency_before_;
  UsageSnapshot begin_;
  UsageSnapshot end_;
  std::optional<uint64_t> device_read_;
  std::optional<uint64_t> device_written_;
};

void AddFlag(v1::Measurement& measurement, const std::string& name, const std::string& evidence);

// The rule of C-010: window < 0.9 of the plan, or < 3 intervals of 100 ms, or (< 30 operations and < 64 MiB). The
// reason, or nothing.
std::optional<std::string> TooShort(const PhaseFacts& facts);

}  // namespace fleetmark::agent
