#include "agent/workloads/disk/phase_meter.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr double kIntervalSeconds = 0.1;
constexpr double kOverrun = 1.05;
// As the quiet check has them: a journal commit is not a busy disk.
constexpr double kForeignBytesPerSecond = 1e6;
constexpr double kForeignBytes = 256 << 10;

std::string Bytes(uint64_t bytes) { return FormatQuantity(static_cast<double>(bytes), Unit::kBytes); }

// The share of `asked` that did not reach (or leave) the device.
double Missing(uint64_t moved, uint64_t asked) {
  return std::clamp(1.0 - static_cast<double>(moved) / static_cast<double>(asked), 0.0, 1.0);
}

std::optional<uint64_t> Smaller(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a) return std::nullopt;  // without a device counter nothing is verified
  return b ? std::min(*a, *b) : a;
}

}  // namespace

void AddFlag(v1::Measurement& measurement, const std::string& name, const std::string& evidence) {
  v1::Flag* flag = measurement.add_flags();
  flag->set_name(name);
  flag->set_evidence(evidence);
}

std::optional<std::string> TooShort(const PhaseFacts& facts) {
  if (facts.planned_seconds && facts.elapsed_seconds < 0.9 * *facts.planned_seconds) {
    return absl::StrFormat("the window was %.3f s long, planned %.3f s", facts.elapsed_seconds, *facts.planned_seconds);
  }
  if (facts.elapsed_seconds < 3 * kIntervalSeconds) {
    return absl::StrFormat("the window was %.3f s long, less than 3 intervals of 0.1 s", facts.elapsed_seconds);
  }
  if (facts.operations < 30 && facts.asked_bytes < (uint64_t{64} << 20)) {
    return absl::StrFormat("%d operations and %s are too few", facts.operations, Bytes(facts.asked_bytes));
  }
  return std::nullopt;
}

PhaseMeter::PhaseMeter(const StorageStack& stack, double idle_baseline_cpus)
    : counters_(stack), idle_baseline_cpus_(idle_baseline_cpus) {}

void PhaseMeter::Open(int fd, uint64_t bytes) {
  fd_ = fd;
  file_bytes_ = bytes;
  residency_before_ = fd >= 0 ? PageCacheResidency(fd, 0, bytes) : std::nullopt;
}

void PhaseMeter::Start() {
  counters_.Start();
  begin_ = TakeUsage();
}

void PhaseMeter::Stop() {
  end_ = TakeUsage();
  device_read_ = counters_.ReadBytes();
  device_written_ = counters_.WrittenBytes();
}

void PhaseMeter::Describe(const PhaseFacts& facts, v1::Measurement& measurement) {
  measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measurement.set_elapsed_seconds(facts.elapsed_seconds);
  measurement.set_asked_bytes(static_cast<double>(facts.asked_bytes));
  measurement.set_operations(static_cast<double>(facts.operations));

  const Usage usage = UsageBetween(begin_, end_, idle_baseline_cpus_);
  SetCost(usage, 1, measurement);
  if (fd_ >= 0) {
    if (residency_before_) measurement.set_residency_before(*residency_before_);
    if (const auto after = PageCacheResidency(fd_, 0, file_bytes_)) measurement.set_residency_after(*after);
  }
  if (facts.operations == 0) {
    measurement.set_missing_reason(
        absl::StrFormat("no operations: none was completed within %.3f s", facts.planned_seconds.value_or(0)));
    return;
  }

  uint64_t moved = 0;
  bool known = false;
  if (facts.metered_read_bytes > 0) {
    // A device counts what returned, the process what it asked for.
    std::optional<uint64_t> by_process = usage.process_read_bytes;
    if (by_process) *by_process += facts.asked_before_start_bytes;
    if (const auto device = Smaller(device_read_, by_process)) {
      moved += *device;
      known = true;
      const double cached = Missing(*device, facts.metered_read_bytes);
      measurement.set_cached_fraction(cached);
      if (cached > kFlaggedFraction) {
        AddFlag(measurement, "cached",
                absl::StrFormat("the device moved %s of %s that were read (cached_fraction %.3f)", Bytes(*device),
                                Bytes(facts.metered_read_bytes), cached));
      }
    }
  }
  if (facts.metered_written_bytes > 0 && device_written_) {
    moved += *device_written_;
    known = true;
    const double unsynced = Missing(*device_written_, facts.metered_written_bytes);
    measurement.set_unsynced_fraction(unsynced);
    if (unsynced > kFlaggedFraction) {
      AddFlag(measurement, "unsynced",
              absl::StrFormat("%s of %s that were written had reached the device when the clock stopped "
                              "(unsynced_fraction %.3f)",
                              Bytes(*device_written_), Bytes(facts.metered_written_bytes), unsynced));
    }
  }
  if (known) measurement.set_device_bytes(static_cast<double>(moved));
  DescribeForeign(facts, usage, measurement);

  if (const auto reason = TooShort(facts)) AddFlag(measurement, "too_short", *reason);
  if (facts.planned_seconds && facts.elapsed_seconds > kOverrun * *facts.planned_seconds) {
    AddFlag(measurement, "overrun",
            absl::StrFormat("the window was %.3f s long, planned %.3f s: the last operations returned late",
                            facts.elapsed_seconds, *facts.planned_seconds));
  }
}

// C-022: what the device moved beyond what the process asked of it. Where the process writes, the device's writes say
// nothing about others: a file system that copies on write, or a journal, writes more than it was given.
void PhaseMeter::DescribeForeign(const PhaseFacts& facts, const Usage& usage, v1::Measurement& measurement) const {
  if (facts.elapsed_seconds <= 0 || !device_read_ || !device_written_ || !usage.process_read_bytes) return;
  const uint64_t own = *usage.process_read_bytes + facts.asked_before_start_bytes;
  double foreign = *device_read_ > own ? static_cast<double>(*device_read_ - own) : 0;
  if (facts.metered_written_bytes == 0) foreign += static_cast<double>(*device_written_);
  const double rate = foreign / facts.elapsed_seconds;
  measurement.set_foreign_disk_bytes_per_second(rate);
  const double tolerated = std::max(kForeignBytes, kFlaggedFraction * static_cast<double>(facts.asked_bytes));
  if (foreign > tolerated && rate > kForeignBytesPerSecond) {
    AddFlag(measurement, "busy",
            absl::StrFormat("others moved %s on this disk meanwhile", FormatQuantity(rate, Unit::kBytesPerSecond)));
  }
}

}  // namespace fleetmark::agent
