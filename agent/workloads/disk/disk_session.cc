#include "agent/workloads/disk/disk_session.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/engine/tick_clock.h"
#include "agent/platform/usage.h"
#include "agent/workloads/disk/block_copy.h"
#include "agent/workloads/disk/descriptor_parts.h"

namespace fleetmark::agent {
namespace {

constexpr double kBaselineSeconds = 0.5;
constexpr uint64_t kProbeFileBytes = uint64_t{1} << 20;
constexpr absl::Duration kSettleLimit = absl::Seconds(10);

uint32_t FreshSeed() {
  uint32_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<uint32_t>(TickClock::MonotonicNs());
  return seed;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskSession>> DiskSession::Begin(WorkContext& context, uint64_t bytes,
                                                                bool measure_baseline) {
  std::unique_ptr<DiskSession> session(new DiskSession);
  absl::StatusOr<StorageStack> stack = ResolveStorageStack(context.target_path());
  if (!stack.ok()) return stack.status();
  session->stack_ = *std::move(stack);
  if (session->stack_.in_memory) {
    return SkippedError(absl::StrCat("target is in memory: ", context.target_path(), " is on ",
                                     session->stack_.file_system, "; choose a directory on a disk"));
  }
  if (absl::Status room = context.CheckRoomFor(bytes); !room.ok()) return room;
  absl::StatusOr<ScratchDirectory> scratch = ScratchDirectory::Open(context.scratch_directory());
  if (!scratch.ok()) return scratch.status();
  session->scratch_ = *std::move(scratch);

  session->seed_ = FreshSeed();
  absl::StatusOr<DataPool> pool = DataPool::Make(session->seed_);
  if (!pool.ok()) return pool.status();
  session->pool_ = *std::move(pool);

  const double baseline = measure_baseline ? MeasureIdleBaseline(kBaselineSeconds) : 0;
  session->meter_ = std::make_unique<PhaseMeter>(session->stack_, baseline);
  TickClock::Get();
  context.SetDerived("file_system", TextValue(session->stack_.file_system));
  context.SetDerived("seed", NumberValue(session->seed_));
  context.SetDerived("buffer_pattern", TextValue("random"));
  return session;
}

absl::Status DiskSession::MakeWay(WorkContext& context, const std::string& name) {
  if (absl::Status status = scratch_.CheckUnchanged(); !status.ok()) return status;
  if (absl::Status status = scratch_.Remove(name); !status.ok()) return scratch_.Explain(status, name, 0);
  WaitUntilSettled(meter_->counters(), kSettleLimit, [&context] { return context.cancelled(); });
  if (context.cancelled()) return absl::CancelledError("cancelled");
  return absl::OkStatus();
}

void DiskSession::ProbeDirectOn(const std::string& path) {
  if (direct_) return;
  direct_ = ProbeDirect(path);
}

absl::Status DiskSession::WriteFile(WorkContext& context, const std::string& name, uint64_t bytes, const Step& step,
                                    uint64_t& written) {
  const uint64_t pass = NextPass();
  return RunWatched(context, step, [&](Watched& watched) -> absl::Status {
    const StopCheck stop = [&watched] { return watched.stop.load(std::memory_order_relaxed); };
    absl::StatusOr<OwnedFd> file = scratch_.Create(name);
    if (!file.ok()) return file.status();
    BlockCopy copy;
    copy.out = file->get();
    copy.bytes = std::min(bytes, kProbeFileBytes);
    copy.pool = &pool_;
    copy.pass = pass;
    if (absl::Status status = RunBlockCopy(copy, watched, nullptr); !status.ok()) return status;
    written = copy.bytes;
    if (absl::Status status = FlushFile(copy.out, copy.bytes, stop); !status.ok()) return status;
    ProbeDirectOn(scratch_.PathOf(name));
    OwnedFd direct_file;
    if (direct_->effective) {
      absl::StatusOr<OwnedFd> opened = scratch_.OpenExisting(name, true, true);
      if (!opened.ok()) return opened.status();
      direct_file = *std::move(opened);
      copy.out = direct_file.get();
    }
    copy.offset = copy.bytes;
    copy.bytes = bytes - copy.bytes;
    watched.bytes.store(0, std::memory_order_relaxed);
    const absl::Status status = RunBlockCopy(copy, watched, nullptr);
    written = copy.offset + watched.bytes.load(std::memory_order_relaxed);
    if (!status.ok()) return status;
    if (absl::Status flushed = FlushFile(file->get(), bytes, stop); !flushed.ok()) return flushed;
    EvictFile(file->get(), bytes, false);
    return CheckFullyWritten(file->get(), bytes);
  });
}

absl::Status DiskSession::FillFile(WorkContext& context, const std::string& name, uint64_t bytes, const Step& step) {
  uint64_t written = 0;
  const absl::Status status = WriteFile(context, name, bytes, step, written);
  if (direct_) {
    context.SetDerived("direct_requested", FlagValue(true));
    context.SetDerived("direct_effective", FlagValue(direct_->effective));
  }
  return scratch_.Explain(status, name, written);
}

void DiskSession::AddRepetitionFlags(v1::Repetition& repetition) const {
  if (!meter_->memory_backed()) return;
  v1::Flag* flag = repetition.add_flags();
  flag->set_name("memory-backed");
  std::string layers;
  for (const StackLayer& layer : stack_.layers) {
    if (layer.memory_backed) absl::StrAppend(&layers, layers.empty() ? "" : ", ", layer.device, " (", layer.kind, ")");
  }
  flag->set_evidence(absl::StrCat("the target's storage lives in memory: ", layers));
}

}  // namespace fleetmark::agent
