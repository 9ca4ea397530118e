// DiskSession: what the disk workloads share from Prepare to Cleanup: the target's storage, the scratch directory, the
// data, the meter, and how to make a file ready. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/direct_file.h"
#include "agent/platform/storage_stack.h"
#include "agent/workloads/disk/file_state.h"
#include "agent/workloads/disk/phase_meter.h"
#include "agent/workloads/disk/scratch.h"
#include "agent/workloads/disk/watched.h"
#include "agent/workloads/workload.h"

namespace fleetmark::agent {

class DiskSession {
 public:
  // Refuses a target in memory (skipped), checks room for `bytes`, opens the scratch directory, makes the data. Records
  // file system and seed as derived parameters. `measure_baseline`: also how busy the idle machine is.
  static absl::StatusOr<std::unique_ptr<DiskSession>> Begin(WorkContext& context, uint64_t bytes,
                                                            bool measure_baseline);

  // Before a repetition that writes: removes `name`, makes that durable, waits (at most 10 s) for the disk to be quiet.
  absl::Status MakeWay(WorkContext& context, const std::string& name);

  // Creates `name` with `bytes` of our data, durable, every block of it written and verified, out of the page cache.
  // Finds out on the way whether direct I/O works here (once). Errors are explained.
  absl::Status FillFile(WorkContext& context, const std::string& name, uint64_t bytes, const Step& step);

  // REQUIRES: a file has been filled.
  const DirectSupport& direct() const { return *direct_; }

  ScratchDirectory& scratch() { return scratch_; }
  PhaseMeter& meter() { return *meter_; }
  DataPool& pool() { return pool_; }
  uint32_t seed() const { return seed_; }
  uint64_t NextPass() { return ++pass_; }

  // Adds "memory-backed" where a layer under the target is memory.
  void AddRepetitionFlags(v1::Repetition& repetition) const;

 private:
  DiskSession() = default;
  void ProbeDirectOn(const std::string& path);
  absl::Status WriteFile(WorkContext& context, const std::string& name, uint64_t bytes, const Step& step,
                         uint64_t& written);

  StorageStack stack_;
  ScratchDirectory scratch_;
  DataPool pool_;
  std::unique_ptr<PhaseMeter> meter_;
  std::optional<DirectSupport> direct_;
  uint32_t seed_ = 0;
  uint64_t pass_ = 0;
};

}  // namespace fleetmark::agent
