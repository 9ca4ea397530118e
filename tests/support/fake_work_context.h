// FakeWorkContext: what a workload is given, held in memory. Parameters are resolved against the descriptor as the
// worker does; a cancel may come from any thread, everything else belongs to the test's.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "agent/workloads/workload.h"

namespace fleetmark::test {

class FakeWorkContext final : public agent::WorkContext {
 public:
  // Aborts if the parameters are not the descriptor's.
  FakeWorkContext(const v1::WorkloadDescriptor& descriptor, const std::map<std::string, v1::ParameterValue>& given);

  // Set as the test needs.
  std::string target;
  std::string scratch;
  unsigned threads = 64;
  bool cache_drop = false;
  absl::Status room = absl::OkStatus();  // what CheckRoomFor answers
  std::atomic<bool> cancel{false};
  std::atomic<int> cancel_after_looks{-1};  // >= 0: cancelled() turns true after so many calls

  // What the workload said.
  std::map<std::string, v1::ParameterValue> derived;
  std::vector<v1::SampleBatch> samples;
  std::vector<std::string> steps;
  mutable uint64_t room_asked = 0;

  const std::map<std::string, v1::ParameterValue>& parameters() const override { return parameters_; }
  const std::string& target_path() const override { return target; }
  const std::string& scratch_directory() const override { return scratch; }
  absl::Status CheckRoomFor(uint64_t bytes) const override;
  unsigned max_threads() const override { return threads; }
  bool allow_cache_drop() const override { return cache_drop; }
  bool cancelled() const override;
  void Report(std::string_view step, double fraction, double rate, v1::Unit unit) override;
  void AddSamples(v1::SampleBatch batch) override { samples.push_back(std::move(batch)); }
  void SetDerived(const std::string& name, v1::ParameterValue value) override { derived[name] = std::move(value); }

 private:
  std::map<std::string, v1::ParameterValue> parameters_;
  mutable std::atomic<int> looks_{0};
};

v1::ParameterValue NumberParameter(double number);
v1::ParameterValue FlagParameter(bool flag);
v1::ParameterValue TextParameter(const std::string& text);

}  // namespace fleetmark::test
