#include "agent/workloads/disk/disk_profile.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/engine/engine_choice.h"
#include "agent/engine/tick_clock.h"
#include "agent/workloads/disk/descriptor_parts.h"
#include "agent/workloads/disk/disk_session.h"
#include "agent/workloads/disk/profile_jobs.h"

namespace fleetmark::agent {
namespace {

constexpr char kProfileFile[] = "fleetmark-profile.dat";
// The share of the bar that making the file takes in a repetition that has to do it again.
constexpr double kFillShare = 0.3;
constexpr absl::Duration kSettleBetweenJobs = absl::Milliseconds(500);

class DiskProfile : public Workload {
 public:
  absl::Status Prepare(WorkContext& context) override;
  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override;
  void Cleanup(WorkContext& context) override;

 private:
  // One job with one operation: what it is called and where on the bar it stands.
  struct Phase {
    const ProfileJob& job;
    const ProfileOperation& operation;
    double from;
    double to;
    std::string metric() const { return absl::StrCat(job.name, ".", operation.name); }
  };

  std::vector<Phase> Phases(const WorkContext& context, double from) const;
  IoJob JobOf(const WorkContext& context, const Phase& phase, int fd);
  absl::Status RunPhase(WorkContext& context, const Phase& phase, v1::Repetition& repetition);
  absl::Status Measure(WorkContext& context, const Phase& phase, int fd, IoEngine& engine, v1::Repetition& repetition);
  // The engine for this kind of job, chosen once per task.
  absl::StatusOr<const EngineChoice*> EngineFor(WorkContext& context, const IoJob& job);

  std::unique_ptr<DiskSession> session_;
  std::map<std::tuple<uint32_t, unsigned, unsigned, AccessPattern>, EngineChoice> engines_;
  uint64_t bytes_ = 0;
  bool file_fresh_ = false;  // filled and not written by jobs since
};

std::vector<DiskProfile::Phase> DiskProfile::Phases(const WorkContext& context, double from) const {
  const bool nvme = context.Text("preset") == "nvme";
  std::vector<Phase> phases;
  for (const ProfileOperation& operation : ProfileOperations()) {
    if (!Selects(context.Text("operations"), operation)) continue;
    for (const ProfileJob& job : ProfileJobs()) {
      if (job.nvme_only && !nvme) continue;
      phases.push_back({job, operation, 0, 0});
    }
  }
  const double width = (1 - from) / static_cast<double>(phases.size());
  for (size_t i = 0; i < phases.size(); ++i) {
    phases[i].from = from + static_cast<double>(i) * width;
    phases[i].to = phases[i].from + width;
  }
  return phases;
}

absl::Status DiskProfile::Prepare(WorkContext& context) {
  const double seconds = context.Number("seconds");
  bytes_ = static_cast<uint64_t>(context.Number("size"));
  absl::StatusOr<std::unique_ptr<DiskSession>> session = DiskSession::Begin(context, bytes_, seconds >= 2);
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  if (absl::Status status = session_->MakeWay(context, kProfileFile); !status.ok()) return status;
  if (absl::Status status = session_->FillFile(context, kProfileFile, bytes_, {"filling the file", 0, 1, bytes_});
      !status.ok()) {
    return status;
  }
  file_fresh_ = true;
  return absl::OkStatus();
}

absl::Status DiskProfile::RunOnce(WorkContext& context, v1::Repetition& repetition) {
  const int64_t begin_ns = TickClock::MonotonicNs();
  double from = 0;
  if (!file_fresh_) {
    from = kFillShare;
    if (absl::Status status = session_->MakeWay(context, kProfileFile); !status.ok()) return status;
    if (absl::Status status = session_->FillFile(context, kProfileFile, bytes_, {"filling the file", 0, from, bytes_});
        !status.ok()) {
      return status;
    }
    file_fresh_ = true;
  }
  const int64_t ready_ns = TickClock::MonotonicNs();
  session_->AddRepetitionFlags(repetition);
  for (const Phase& phase : Phases(context, from)) {
    if (phase.operation.read_fraction < 1) file_fresh_ = false;
    if (absl::Status status = RunPhase(context, phase, repetition); !status.ok()) return status;
  }
  repetition.set_prepare_seconds(static_cast<double>(ready_ns - begin_ns) / 1e9);
  repetition.set_measure_seconds(static_cast<double>(TickClock::MonotonicNs() - ready_ns) / 1e9);
  return absl::OkStatus();
}

IoJob DiskProfile::JobOf(const WorkContext& context, const Phase& phase, int fd) {
  IoJob job;
  job.fd = fd;
  job.block_bytes = phase.job.block_bytes;
  job.file_bytes = bytes_;
  job.depth = phase.job.depth;
  job.threads = phase.job.threads;
  job.pattern = phase.job.pattern;
  job.read_fraction = phase.operation.read_fraction;
  job.ramp_seconds = context.Number("ramp");
  job.run_seconds = context.Number("seconds");
  job.seed = session_->seed();
  job.pool = &session_->pool();
  job.pass = session_->NextPass();
  return job;
}

absl::StatusOr<const EngineChoice*> DiskProfile::EngineFor(WorkContext& context, const IoJob& job) {
  const auto key = std::make_tuple(job.block_bytes, job.depth, job.threads, job.pattern);
  if (const auto found = engines_.find(key); found != engines_.end()) return &found->second;
  absl::StatusOr<EngineChoice> choice = ChooseEngine(job, [&context] { return context.cancelled(); });
  if (!choice.ok()) return choice.status();
  return &engines_.emplace(key, *std::move(choice)).first->second;
}

absl::Status DiskProfile::RunPhase(WorkContext& context, const Phase& phase, v1::Repetition& repetition) {
  if (context.cancelled()) return absl::CancelledError("cancelled");
  if (absl::Status status = session_->scratch().CheckUnchanged(); !status.ok()) return status;
  if (phase.job.threads > context.max_threads()) {
    for (const auto& [suffix, unit] : {std::pair<const char*, v1::Unit>{".bandwidth", v1::UNIT_BYTES_PER_SECOND},
                                       {".iops", v1::UNIT_OPERATIONS_PER_SECOND}}) {
      v1::Measurement& missing = *repetition.add_measurements();
      missing.set_metric(phase.metric() + suffix);
      missing.set_unit(unit);
      missing.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
      missing.set_missing_reason(absl::StrFormat("needs %d threads, this agent allows %d (max_threads)",
                                                 phase.job.threads, context.max_threads()));
    }
    return absl::OkStatus();
  }
  const bool direct = session_->direct().effective;
  absl::StatusOr<OwnedFd> file = session_->scratch().OpenExisting(kProfileFile, true, direct);
  if (!file.ok()) return session_->scratch().Explain(file.status(), kProfileFile, 0);
  if (!direct) {
    if (absl::Status status = FlushFile(file->get(), bytes_, [&context] { return context.cancelled(); });
        !status.ok()) {
      return session_->scratch().Explain(status, kProfileFile, bytes_);
    }
  }
  EvictFile(file->get(), bytes_, context.allow_cache_drop());
  absl::StatusOr<const EngineChoice*> choice = EngineFor(context, JobOf(context, phase, file->get()));
  if (!choice.ok()) return session_->scratch().Explain(choice.status(), kProfileFile, bytes_);
  if (!direct) EvictFile(file->get(), bytes_, context.allow_cache_drop());
  return Measure(context, phase, file->get(), *(*choice)->engine, repetition);
}

absl::Status DiskProfile::Measure(WorkContext& context, const Phase& phase, int fd, IoEngine& engine,
                                  v1::Repetition& repetition) {
  const IoJob job = JobOf(context, phase, fd);
  const std::string step = absl::StrCat(phase.job.name, " ", phase.operation.name);
  context.Report(step, phase.from, std::numeric_limits<double>::quiet_NaN(), v1::UNIT_BYTES_PER_SECOND);
  PhaseMeter& meter = session_->meter();
  WaitUntilSettled(meter.counters(), kSettleBetweenJobs, [&context] { return context.cancelled(); });
  meter.Open(fd, bytes_);
  double start_unix = UnixSeconds();
  JobHooks hooks;
  hooks.cancelled = [&context] { return context.cancelled(); };
  hooks.window_opens = [&] {
    start_unix = UnixSeconds();
    meter.Start();
  };
  hooks.window_closed = [&] { meter.Stop(); };
  hooks.progress = [&](const IoProgress& progress) {
    const double share = std::min(progress.elapsed_seconds / (job.ramp_seconds + job.run_seconds), 1.0);
    const double fraction = phase.from + (phase.to - phase.from) * share;
    if (job.pattern == AccessPattern::kRandom) {
      context.Report(step, fraction, progress.rate_bytes_per_second / job.block_bytes, v1::UNIT_OPERATIONS_PER_SECOND);
    } else {
      context.Report(step, fraction, progress.rate_bytes_per_second, v1::UNIT_BYTES_PER_SECOND);
    }
  };
  JobResult result;
  const absl::Status status = engine.Run(job, hooks, result);
  if (!status.ok()) return session_->scratch().Explain(status, kProfileFile, bytes_ + result.total_written_bytes);

  PhaseFacts facts;
  facts.elapsed_seconds = result.elapsed_seconds;
  facts.asked_bytes = result.read_bytes + result.written_bytes;
  facts.operations = result.reads + result.writes;
  facts.metered_read_bytes = result.hooked_read_bytes;
  facts.metered_written_bytes = result.hooked_written_bytes;
  facts.asked_before_start_bytes = result.in_flight_at_hook_bytes;
  facts.planned_seconds = job.run_seconds;
  v1::Measurement measurement;
  meter.Describe(facts, measurement);
  if (!session_->direct().effective) AddFlag(measurement, "direct not effective", session_->direct().reason);
  if (result.clock_suspect) AddFlag(measurement, "clock-suspect", "two clocks disagree about the length of the job");
  auto& derived = *measurement.mutable_derived_parameters();
  derived["engine"] = TextValue(std::string(engine.name()));
  if (!result.details.empty()) derived["engine_details"] = TextValue(result.details);

  v1::Measurement& bandwidth = *repetition.add_measurements();
  bandwidth = measurement;
  bandwidth.set_metric(phase.metric() + ".bandwidth");
  bandwidth.set_unit(v1::UNIT_BYTES_PER_SECOND);
  v1::Measurement& iops = *repetition.add_measurements();
  iops = std::move(measurement);
  iops.set_metric(phase.metric() + ".iops");
  iops.set_unit(v1::UNIT_OPERATIONS_PER_SECOND);
  if (facts.operations == 0) return absl::OkStatus();

  bandwidth.set_value(static_cast<double>(facts.asked_bytes) / facts.elapsed_seconds);
  iops.set_value(static_cast<double>(facts.operations) / facts.elapsed_seconds);
  LatencyHistogram latency;
  if (result.read_latency) latency.Merge(*result.read_latency);
  if (result.write_latency) latency.Merge(*result.write_latency);
  iops.set_latency_histogram(latency.Serialize());
  SendSeries(context, bandwidth.metric(), start_unix, result.series);
  return absl::OkStatus();
}

void DiskProfile::Cleanup(WorkContext&) {
  if (session_) session_->scratch().Remove(kProfileFile).IgnoreError();
  session_.reset();
}

WorkloadEntry MakeProfileEntry() {
  WorkloadEntry entry;
  v1::WorkloadDescriptor& descriptor = entry.descriptor;
  descriptor.set_name("disk.profile");
  descriptor.set_version(1);
  descriptor.set_description(
      "Direct sequential and random I/O on one file, with the jobs of CrystalDiskMark and KDiskMark");
  descriptor.set_needs_target(true);
  descriptor.set_writes(true);
  descriptor.set_needs_quiet_machine(true);
  descriptor.mutable_repetition_rule()->set_least(6);
  descriptor.mutable_repetition_rule()->set_most(15);
  descriptor.mutable_repetition_rule()->set_budget_seconds(300);
  AddNumberParameter(descriptor, v1::PARAMETER_TYPE_BYTES, "size", "Size of the file, a multiple of 1 MiB", 1024 * kMiB,
                     16 * kMiB, 16.0 * 1024 * 1024 * kMiB)
      .set_multiple_of(kMiB);
  AddNumberParameter(descriptor, v1::PARAMETER_TYPE_SECONDS, "seconds", "Length of each job, without its ramp", 5, 0.1,
                     3600);
  AddNumberParameter(descriptor, v1::PARAMETER_TYPE_SECONDS, "ramp", "Start of each job that is not counted", 1, 0, 600)
      .set_below("seconds");
  AddChoiceParameter(descriptor, "operations", "Which of read, write and the 70/30 mix are measured", "all",
                     {"read", "write", "mix", "readwrite", "all"});
  AddChoiceParameter(descriptor, "preset", "nvme adds SEQ128K Q32T1 and RND4K Q32T16", "default", {"default", "nvme"});
  for (const ProfileOperation& operation : ProfileOperations()) {
    for (const ProfileJob& job : ProfileJobs()) {
      const std::string name = absl::StrCat(job.name, ".", operation.name);
      const std::string text =
          absl::StrFormat("%s of %d KiB %s, %d in flight%s",
                          std::string(operation.name) == "mix" ? "70 % reads, 30 % writes" : operation.name,
                          job.block_bytes / 1024, job.pattern == AccessPattern::kRandom ? "at random" : "in sequence",
                          job.depth, job.threads > 1 ? absl::StrFormat(" in each of %d threads", job.threads) : "");
      AddMetric(descriptor, name + ".bandwidth", text, v1::UNIT_BYTES_PER_SECOND).set_is_series(true);
      AddMetric(descriptor, name + ".iops", text, v1::UNIT_OPERATIONS_PER_SECOND).set_has_latency(true);
    }
  }
  entry.make = [] { return std::make_unique<DiskProfile>(); };
  return entry;
}

}  // namespace

const WorkloadEntry& DiskProfileEntry() {
  static const auto* entry = new WorkloadEntry(MakeProfileEntry());
  return *entry;
}

}  // namespace fleetmark::agent
