// The WorkContext of the worker's loop: parameters and limits from the orders, progress at a bounded rate, samples and
// derived parameters collected for the loop. One thread, but for cancelled().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/worker/loop.h"
#include "agent/worker/progress.h"

namespace fleetmark::agent {

class LoopContext : public WorkContext {
 public:
  // All references outlive it.
  LoopContext(const v1::WorkloadDescriptor& workload, const v1::WorkerStart& start, std::string scratch_directory,
              const LoopDependencies& dependencies, ProgressEstimate& estimate);

  const std::map<std::string, v1::ParameterValue>& parameters() const override { return parameters_; }
  const std::string& target_path() const override { return start_.target_path(); }
  const std::string& scratch_directory() const override { return scratch_directory_; }
  absl::Status CheckRoomFor(uint64_t bytes) const override;
  unsigned max_threads() const override;
  bool allow_cache_drop() const override { return start_.allow_cache_drop(); }
  bool cancelled() const override { return dependencies_.cancellation->requested(); }
  void Report(std::string_view step, double fraction, double rate, v1::Unit unit) override;
  void AddSamples(v1::SampleBatch samples) override { samples_.push_back(std::move(samples)); }
  void SetDerived(const std::string& name, v1::ParameterValue value) override { derived_[name] = std::move(value); }

  // For the loop.
  void SetPhase(v1::Phase phase, uint32_t repetition);
  std::vector<v1::SampleBatch> TakeSamples() { return std::exchange(samples_, {}); }
  const std::map<std::string, v1::ParameterValue>& derived() const { return derived_; }
  double NowSeconds() const;

 private:
  void Send(std::string_view step, double fraction, double rate, v1::Unit unit);

  const v1::WorkloadDescriptor& workload_;
  const v1::WorkerStart& start_;
  const std::string scratch_directory_;
  const LoopDependencies& dependencies_;
  ProgressEstimate& estimate_;
  const std::map<std::string, v1::ParameterValue> parameters_;
  std::map<std::string, v1::ParameterValue> derived_;
  std::vector<v1::SampleBatch> samples_;
  v1::Phase phase_ = v1::PHASE_PREPARING;
  uint32_t repetition_ = 0;
  int64_t last_report_ns_ = 0;
};

}  // namespace fleetmark::agent
