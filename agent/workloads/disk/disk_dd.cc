#include "agent/workloads/disk/disk_dd.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/engine/io_engine.h"
#include "agent/engine/tick_clock.h"
#include "agent/workloads/disk/block_copy.h"
#include "agent/workloads/disk/descriptor_parts.h"
#include "agent/workloads/disk/disk_session.h"

namespace fleetmark::agent {
namespace {

constexpr char kDdFile[] = "fleetmark-dd.dat";
constexpr uint32_t kBlock = 1u << 20;

enum class Source { kZeros, kWrittenFile, kOurData };
enum class Sink { kNull, kNewFile, kTruncatedFile, kNowhere };

struct DdStep {
  const char* metric;
  const char* description;
  Source source;
  Sink sink;
  bool classic;
  bool durable;  // the flush belongs to the clock
  bool evicted;  // the file is out of the cache before
  bool direct;
};

constexpr std::array<DdStep, 8> kSteps = {{
    {"null_copy", "zeros to nowhere: what dd itself costs", Source::kZeros, Sink::kNull, true, false, false, false},
    {"write.pass1", "dd of zeros to a new file, not flushed", Source::kZeros, Sink::kNewFile, true, false, false,
     false},
    {"read.pass1", "dd of the file just written, from the cache", Source::kWrittenFile, Sink::kNull, true, false, false,
     false},
    {"read.pass2", "the same again", Source::kWrittenFile, Sink::kNull, true, false, false, false},
    {"write.pass2", "dd of zeros to the truncated file, not flushed", Source::kZeros, Sink::kTruncatedFile, true, false,
     false, false},
    {"durable_write", "our data to a new file, flushed to the device within the clock", Source::kOurData,
     Sink::kNewFile, false, true, false, false},
    {"uncached_read", "the file read through the cache that was emptied of it", Source::kWrittenFile, Sink::kNowhere,
     false, false, true, false},
    {"direct_read", "the file read past the cache", Source::kWrittenFile, Sink::kNowhere, false, false, true, true},
}};

// What a step measured.
struct Timing {
  int64_t elapsed_ns = 0;
  int64_t flush_ns = 0;
  uint64_t bytes = 0;
  bool evicted = true;
  double start_unix = 0;
};

class DiskDd : public Workload {
 public:
  absl::Status Prepare(WorkContext& context) override;
  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override;
  void Cleanup(WorkContext& context) override;

 private:
  absl::Status RunStep(WorkContext& context, const DdStep& step, const Step& bar, v1::Repetition& repetition);
  // On the watched thread: opens, copies, flushes, closes, with the clock around what belongs in it.
  absl::Status TimeStep(const DdStep& step, bool direct, Watched& watched, IntervalSeries& series, Timing& timing);
  absl::StatusOr<OwnedFd> OpenSink(const DdStep& step);
  void Describe(const DdStep& step, const Timing& timing, bool direct, v1::Measurement& measurement);

  std::unique_ptr<DiskSession> session_;
  AlignedBuffer buffer_;
  OwnedFd zero_;
  OwnedFd null_;
  uint64_t bytes_ = 0;
};

absl::StatusOr<OwnedFd> OpenDevice(const char* path, int flags) {
  OwnedFd fd(open(path, flags | O_CLOEXEC));
  if (!fd.valid()) return IoErrorStatus(errno, absl::StrCat("open ", path));
  return fd;
}

absl::Status DiskDd::Prepare(WorkContext& context) {
  bytes_ = static_cast<uint64_t>(context.Number("size"));
  absl::StatusOr<std::unique_ptr<DiskSession>> session = DiskSession::Begin(context, bytes_, true);
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(kBlock);
  if (!buffer.ok()) return buffer.status();
  buffer_ = *std::move(buffer);
  absl::StatusOr<OwnedFd> zero = OpenDevice("/dev/zero", O_RDONLY);
  if (!zero.ok()) return zero.status();
  zero_ = *std::move(zero);
  absl::StatusOr<OwnedFd> null = OpenDevice("/dev/null", O_WRONLY);
  if (!null.ok()) return null.status();
  null_ = *std::move(null);
  // Finds out whether direct I/O works here, on a file of one block.
  if (absl::Status status = session_->FillFile(context, kDdFile, kBlock, {"trying direct I/O", 0, 1, kBlock});
      !status.ok()) {
    return status;
  }
  return session_->scratch().Remove(kDdFile);
}

absl::Status DiskDd::RunOnce(WorkContext& context, v1::Repetition& repetition) {
  session_->AddRepetitionFlags(repetition);
  const double width = 1.0 / static_cast<double>(kSteps.size());
  for (size_t i = 0; i < kSteps.size(); ++i) {
    if (context.cancelled()) return absl::CancelledError("cancelled");
    const double from = width * static_cast<double>(i);
    const Step bar{kSteps[i].metric, from, from + width, bytes_};
    if (absl::Status status = RunStep(context, kSteps[i], bar, repetition); !status.ok()) return status;
  }
  return session_->scratch().Remove(kDdFile);
}

absl::StatusOr<OwnedFd> DiskDd::OpenSink(const DdStep& step) {
  switch (step.sink) {
    case Sink::kNewFile:
      return session_->scratch().Create(kDdFile);
    case Sink::kTruncatedFile: {
      absl::StatusOr<OwnedFd> file = session_->scratch().OpenExisting(kDdFile, true, false);
      if (file.ok() && ftruncate(file->get(), 0) != 0) return IoErrorStatus(errno, "truncate");
      return file;
    }
    case Sink::kNull:
    case Sink::kNowhere:
      break;
  }
  return OwnedFd();
}

absl::Status DiskDd::TimeStep(const DdStep& step, bool direct, Watched& watched, IntervalSeries& series,
                              Timing& timing) {
  const StopCheck stop = [&watched] { return watched.stop.load(std::memory_order_relaxed); };
  OwnedFd source;
  if (step.source == Source::kWrittenFile) {
    absl::StatusOr<OwnedFd> file = session_->scratch().OpenExisting(kDdFile, false, direct);
    if (!file.ok()) return file.status();
    source = *std::move(file);
  }
  BlockCopy copy;
  copy.bytes = bytes_;
  copy.block_bytes = kBlock;
  copy.buffer = buffer_.data();
  copy.in = step.source == Source::kZeros ? zero_.get() : source.get();
  if (step.source == Source::kOurData) {
    copy.pool = &session_->pool();
    copy.pass = session_->NextPass();
  }
  copy.positioned = step.source == Source::kOurData || step.sink == Sink::kNowhere;

  PhaseMeter& meter = session_->meter();
  meter.Start();
  timing.start_unix = UnixSeconds();
  // The timed section. Creating and truncating belong to it, as in the script.
  const int64_t begin_ns = TickClock::MonotonicNs();
  series.Start(begin_ns);
  absl::StatusOr<OwnedFd> sink = OpenSink(step);
  if (!sink.ok()) return sink.status();
  copy.out = step.sink == Sink::kNull ? null_.get() : sink->get();
  const absl::Status copied = RunBlockCopy(copy, watched, &series);
  timing.bytes = watched.bytes.load(std::memory_order_relaxed);
  if (!copied.ok()) return copied;
  const int64_t copied_ns = TickClock::MonotonicNs();
  if (step.durable) {
    if (absl::Status status = FlushFile(copy.out, bytes_, stop); !status.ok()) return status;
    timing.flush_ns = TickClock::MonotonicNs() - copied_ns;
  }
  timing.elapsed_ns = copied_ns + timing.flush_ns - begin_ns;
  // End of the timed section.
  meter.Stop();

  if (!sink->valid()) return absl::OkStatus();
  if (!step.durable) {
    const int64_t flush_begin_ns = TickClock::MonotonicNs();
    if (absl::Status status = FlushFile(copy.out, bytes_, stop); !status.ok()) return status;
    timing.flush_ns = TickClock::MonotonicNs() - flush_begin_ns;
  }
  return CheckFullyWritten(copy.out, bytes_);
}

absl::Status DiskDd::RunStep(WorkContext& context, const DdStep& step, const Step& bar, v1::Repetition& repetition) {
  ScratchDirectory& scratch = session_->scratch();
  if (absl::Status status = scratch.CheckUnchanged(); !status.ok()) return status;
  if (step.sink == Sink::kNewFile) {
    if (absl::Status status = session_->MakeWay(context, kDdFile); !status.ok()) return status;
  }
  const bool direct = step.direct && session_->direct().effective;
  // For the residency before and after; a file that the step makes has none yet.
  OwnedFd observed;
  Timing timing;
  if (step.source == Source::kWrittenFile) {
    absl::StatusOr<OwnedFd> file = scratch.OpenExisting(kDdFile, false, false);
    if (!file.ok()) return scratch.Explain(file.status(), kDdFile, 0);
    observed = *std::move(file);
    if (absl::Status status = CheckFullyWritten(observed.get(), bytes_); !status.ok()) {
      return scratch.Explain(status, kDdFile, bytes_);
    }
    if (step.evicted) EvictFile(observed.get(), bytes_, context.allow_cache_drop());
  }
  session_->meter().Open(observed.get(), bytes_);
  IntervalSeries series;
  const absl::Status status =
      RunWatched(context, bar, [&](Watched& watched) { return TimeStep(step, direct, watched, series, timing); });
  if (!status.ok())
    return scratch.Explain(status, kDdFile, step.source == Source::kWrittenFile ? bytes_ : timing.bytes);

  v1::Measurement& measurement = *repetition.add_measurements();
  measurement.set_metric(step.metric);
  measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
  Describe(step, timing, direct, measurement);
  SendSeries(context, step.metric, timing.start_unix,
             series.Finish(std::max<int64_t>(timing.elapsed_ns, 1) + series.start_ns()));
  return absl::OkStatus();
}

void DiskDd::Describe(const DdStep& step, const Timing& timing, bool direct, v1::Measurement& measurement) {
  const bool reads = step.source == Source::kWrittenFile;
  const bool writes = step.sink == Sink::kNewFile || step.sink == Sink::kTruncatedFile;
  PhaseFacts facts;
  facts.elapsed_seconds = static_cast<double>(timing.elapsed_ns) / 1e9;
  facts.asked_bytes = timing.bytes;
  facts.operations = timing.bytes / kBlock;
  facts.metered_read_bytes = reads ? timing.bytes : 0;
  facts.metered_written_bytes = writes ? timing.bytes : 0;
  session_->meter().Describe(facts, measurement);
  if (!reads && !writes) measurement.clear_asked_bytes();  // nothing was asked of the disk
  measurement.set_classic(step.classic);
  if (writes) measurement.set_flush_seconds(static_cast<double>(timing.flush_ns) / 1e9);
  if (step.direct && !direct) AddFlag(measurement, "direct not effective", session_->direct().reason);
  auto& derived = *measurement.mutable_derived_parameters();
  derived["engine"] = TextValue("sync");
  derived["buffer_pattern"] = TextValue(step.source == Source::kZeros ? "zeros" : step.classic ? "zeros" : "random");
  if (facts.operations > 0 && timing.elapsed_ns > 0) {
    measurement.set_value(static_cast<double>(timing.bytes) / facts.elapsed_seconds);
  }
}

void DiskDd::Cleanup(WorkContext&) {
  if (session_) session_->scratch().Remove(kDdFile).IgnoreError();
  session_.reset();
}

WorkloadEntry MakeDdEntry() {
  WorkloadEntry entry;
  v1::WorkloadDescriptor& descriptor = entry.descriptor;
  descriptor.set_name("disk.dd");
  descriptor.set_version(1);
  descriptor.set_description("The classic dd script (1 MiB blocks of zeros, cached) and three honest steps beside it");
  descriptor.set_needs_target(true);
  descriptor.set_writes(true);
  descriptor.set_needs_quiet_machine(true);
  descriptor.mutable_repetition_rule()->set_least(3);
  descriptor.mutable_repetition_rule()->set_most(10);
  descriptor.mutable_repetition_rule()->set_budget_seconds(600);
  AddNumberParameter(descriptor, v1::PARAMETER_TYPE_BYTES, "size", "Bytes of each step, a multiple of 1 MiB",
                     2048 * kMiB, 4 * kMiB, 16.0 * 1024 * 1024 * kMiB)
      .set_multiple_of(kMiB);
  for (const DdStep& step : kSteps) {
    v1::MetricDescriptor& metric = AddMetric(descriptor, step.metric, step.description, v1::UNIT_BYTES_PER_SECOND);
    metric.set_classic(step.classic);
    metric.set_is_series(true);
  }
  entry.make = [] { return std::make_unique<DiskDd>(); };
  return entry;
}

}  // namespace

const WorkloadEntry& DiskDdEntry() {
  static const auto* entry = new WorkloadEntry(MakeDdEntry());
  return *entry;
}

}  // namespace fleetmark::agent
