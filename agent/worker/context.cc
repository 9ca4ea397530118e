#include "agent/worker/context.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr int64_t kReportIntervalNs = 200'000'000;
constexpr double kDefaultReserve = 1024.0 * 1024 * 1024;
constexpr double kDefaultReserveShare = 0.05;

std::string Size(double bytes) { return FormatQuantity(bytes, Unit::kBytes); }

}  // namespace

LoopContext::LoopContext(const v1::WorkloadDescriptor& workload, const v1::WorkerStart& start,
                         std::string scratch_directory, const LoopDependencies& dependencies,
                         ProgressEstimate& estimate)
    : workload_(workload),
      start_(start),
      scratch_directory_(std::move(scratch_directory)),
      dependencies_(dependencies),
      estimate_(estimate),
      parameters_(start.parameters().begin(), start.parameters().end()) {}

absl::Status LoopContext::CheckRoomFor(uint64_t bytes) const {
  const auto asked = static_cast<double>(bytes);
  if (start_.has_max_bytes() && asked > start_.max_bytes()) {
    return SkippedError(absl::StrCat(workload_.name(), " needs ", Size(asked), " of scratch on ", start_.target_path(),
                                     ", this host's configuration allows ", Size(start_.max_bytes()),
                                     "; raise it there: max_bytes: \"", FormatNumber(asked), "B\""));
  }
  struct statvfs info = {};
  if (::statvfs(start_.target_path().c_str(), &info) != 0) {
    return absl::UnavailableError(
        absl::StrCat("ask for the free space of ", start_.target_path(), ": ", strerror(errno)));
  }
  const double block = static_cast<double>(info.f_frsize);
  const double total = static_cast<double>(info.f_blocks) * block;
  const double available = static_cast<double>(info.f_bavail) * block;
  const double reserve =
      start_.has_min_free_bytes() ? start_.min_free_bytes() : std::max(kDefaultReserve, kDefaultReserveShare * total);
  if (available - reserve < asked) {
    return SkippedError(absl::StrCat(workload_.name(), " needs ", Size(asked), " on ", start_.target_path(), ", where ",
                                     Size(available), " are free and ", Size(reserve),
                                     " stay free; use less (--set), another target, or set min_free_bytes in this "
                                     "host's configuration"));
  }
  if (info.f_files > 0 && info.f_favail == 0) {
    return SkippedError(absl::StrCat(start_.target_path(), " has no free inode; remove files there"));
  }
  return absl::OkStatus();
}

unsigned LoopContext::max_threads() const {
  return start_.max_threads() > 0 ? start_.max_threads() : std::numeric_limits<unsigned>::max();
}

double LoopContext::NowSeconds() const { return static_cast<double>(dependencies_.clock->MonotonicNs()) / 1e9; }

void LoopContext::SetPhase(v1::Phase phase, uint32_t repetition) {
  phase_ = phase;
  repetition_ = repetition;
  last_report_ns_ = dependencies_.clock->MonotonicNs();
  Send("", 0, std::nan(""), v1::UNIT_UNSPECIFIED);
}

void LoopContext::Report(std::string_view step, double fraction, double rate, v1::Unit unit) {
  const int64_t now = dependencies_.clock->MonotonicNs();
  if (now - last_report_ns_ < kReportIntervalNs) return;
  last_report_ns_ = now;
  Send(step, fraction, rate, unit);
}

void LoopContext::Send(std::string_view step, double fraction, double rate, v1::Unit unit) {
  const ProgressEstimate::Estimate estimate = estimate_.At(NowSeconds(), fraction);
  v1::WorkerEvent event;
  v1::Progress& progress = *event.mutable_progress();
  progress.set_phase(phase_);
  progress.set_step(CleanUtf8(step));
  progress.set_fraction(estimate.fraction);
  if (estimate.seconds_left.has_value()) progress.set_seconds_left(*estimate.seconds_left);
  if (std::isfinite(rate)) {
    progress.set_rate(rate);
    progress.set_rate_unit(unit);
  }
  progress.set_repetition(repetition_);
  // A lost executor is noticed by the watcher of the control pipe; progress is not worth an error.
  dependencies_.channel->Send(event).IgnoreError();
}

}  // namespace fleetmark::agent
