#include "agent/workloads/memory/memory_stream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "agent/platform/machine.h"
#include "agent/platform/usage.h"
#include "agent/workloads/memory/stream_plan.h"
#include "agent/workloads/memory/stream_team.h"
#include "common/statistics/summary.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr double kNoRate = std::numeric_limits<double>::quiet_NaN();
constexpr unsigned kDefaultPasses = 10;

enum class Stores { kScalar, kBest };
enum class Threads { kSingle, kMulti };

constexpr std::pair<Stores, const char*> kStores[] = {{Stores::kScalar, "scalar"}, {Stores::kBest, "best"}};
constexpr std::pair<Threads, const char*> kThreads[] = {{Threads::kSingle, "single"}, {Threads::kMulti, "multi"}};
constexpr StreamKernel kKernels[] = {StreamKernel::kCopy, StreamKernel::kScale, StreamKernel::kAdd,
                                     StreamKernel::kTriad};

std::string MetricName(StreamKernel kernel, const char* stores, const char* threads) {
  return std::string(StreamKernelName(kernel)) + "." + stores + "." + threads;
}

v1::ParameterValue NumberValue(double number) {
  v1::ParameterValue value;
  value.set_number(number);
  return value;
}

v1::ParameterValue TextValue(std::string text) {
  v1::ParameterValue value;
  value.set_text(std::move(text));
  return value;
}

v1::ParameterDescriptor& AddParameter(v1::WorkloadDescriptor& descriptor, const char* name, const char* description,
                                      v1::ParameterType type, v1::ParameterRole role, double minimum, double maximum) {
  v1::ParameterDescriptor& parameter = *descriptor.add_parameters();
  parameter.set_name(name);
  parameter.set_description(description);
  parameter.set_type(type);
  parameter.set_role(role);
  parameter.set_minimum(minimum);
  parameter.set_maximum(maximum);
  return parameter;
}

void AddMetric(v1::WorkloadDescriptor& descriptor, const std::string& name, const std::string& description) {
  v1::MetricDescriptor& metric = *descriptor.add_metrics();
  metric.set_name(name);
  metric.set_description(description);
  metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
}

std::string Describe(StreamKernel kernel, Stores stores, Threads threads) {
  static constexpr const char* kFormulas[] = {"c = a", "b = q c", "c = a + b", "a = b + q c"};
  std::string text = std::string(kFormulas[static_cast<size_t>(kernel)]) + ", ";
  text += stores == Stores::kScalar ? "plain code for the baseline instruction set"
                                    : "widest vectors of this processor with streaming stores";
  return text + (threads == Threads::kSingle ? ", one thread" : ", one thread per usable CPU");
}

v1::WorkloadDescriptor MakeDescriptor() {
  v1::WorkloadDescriptor descriptor;
  descriptor.set_name("memory.stream");
  descriptor.set_version(1);
  descriptor.set_description("Memory bandwidth by copy, scale, add and triad on doubles (variant of STREAM).");
  descriptor.set_needs_quiet_machine(true);
  descriptor.mutable_repetition_rule()->set_least(6);
  descriptor.mutable_repetition_rule()->set_most(15);
  descriptor.mutable_repetition_rule()->set_budget_seconds(120);
  AddParameter(descriptor, "passes", "Timed passes of each kernel, after one that is discarded.",
               v1::PARAMETER_TYPE_COUNT, v1::PARAMETER_ROLE_IDENTITY, 3, 100)
      .mutable_default_value()
      ->set_number(kDefaultPasses);
  AddParameter(descriptor, "size", "Bytes of each of the three arrays; four times the last-level cache by itself.",
               v1::PARAMETER_TYPE_BYTES, v1::PARAMETER_ROLE_DERIVED, 1 << 20, 1ull << 40);
  AddParameter(descriptor, "threads", "Threads of the .multi metrics; one per usable CPU by itself.",
               v1::PARAMETER_TYPE_COUNT, v1::PARAMETER_ROLE_DERIVED, 1, 4096);
  for (const auto& [threads, threads_name] : kThreads) {
    for (const auto& [stores, stores_name] : kStores) {
      for (const StreamKernel kernel : kKernels) {
        const std::string name = MetricName(kernel, stores_name, threads_name);
        const std::string what = Describe(kernel, stores, threads);
        AddMetric(descriptor, name, what + ": median of the passes");
        AddMetric(descriptor, name + ".peak", what + ": best of the passes");
      }
    }
  }
  return descriptor;
}

std::optional<uint64_t> Fixed(const WorkContext& context, const char* name) {
  const auto found = context.parameters().find(name);
  if (found == context.parameters().end()) return std::nullopt;
  return static_cast<uint64_t>(found->second.number());
}

class MemoryStream final : public Workload {
 public:
  absl::Status Prepare(WorkContext& context) override;
  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override;
  void Cleanup(WorkContext&) override { arrays_ = StreamArrays(); }

 private:
  absl::Status Map(WorkContext& context, Threads threads, const char* step);
  StreamTeam Team(WorkContext& context, Threads threads) const;
  void AddRates(const StreamArrays& arrays, const StreamTeam& team, const StreamVariant& variant,
                const StreamTimes& times, const Usage& usage, const char* stores, const char* threads_name,
                unsigned threads, v1::Repetition& repetition) const;

  // Set by Prepare.
  std::vector<int> cpus_;
  LastLevelCache cache_;
  StreamPlan plan_;
  bool several_nodes_ = false;

  StreamArrays arrays_;
};

StreamTeam MemoryStream::Team(WorkContext& context, Threads threads) const {
  std::vector<int> cpus = cpus_;
  if (threads == Threads::kSingle) cpus.resize(1);
  return StreamTeam(std::move(cpus), [&context] { return context.cancelled(); });
}

// Pages belong to the memory node of the thread that touches them first. With one node nobody can tell.
absl::Status MemoryStream::Map(WorkContext& context, Threads threads, const char* step) {
  StreamTeam team = Team(context, threads);
  const size_t count = Team(context, Threads::kMulti).RoundCount(plan_.array_bytes / sizeof(double));
  arrays_ = StreamArrays();
  arrays_ = StreamArrays(count);
  if (arrays_.a() == nullptr) {
    return SkippedError("map three arrays of " +
                        FormatQuantity(static_cast<double>(plan_.array_bytes), Unit::kBytes, UnitFamily::kIec) +
                        ": the system refused; free memory or set memory.stream.size");
  }
  return team.Touch(arrays_, [&](double fraction) {
    if (step != nullptr) context.Report(step, fraction, kNoRate, v1::UNIT_UNSPECIFIED);
  });
}

absl::Status MemoryStream::Prepare(WorkContext& context) {
  const UsableCpus usable = ReadUsableCpus();
  // More of them than CPUs would only wait for each other.
  const uint64_t most_threads = std::max(1u, std::min(usable.threads(), context.max_threads()));
  const uint64_t threads = std::min(Fixed(context, "threads").value_or(most_threads), most_threads);
  cpus_.clear();
  for (uint64_t i = 0; i < threads; ++i) cpus_.push_back(usable.cpus[i % usable.cpus.size()]);
  cache_ = ReadLastLevelCache();
  several_nodes_ = ReadMemoryNodes() > 1;

  const absl::StatusOr<StreamPlan> plan = PlanStreamArrays(cache_, ReadAvailableMemory(), Fixed(context, "size"));
  if (!plan.ok()) return plan.status();
  plan_ = *plan;
  context.SetDerived("size", NumberValue(static_cast<double>(plan_.array_bytes)));
  context.SetDerived("threads", NumberValue(static_cast<double>(threads)));
  context.SetDerived("last_level_cache", NumberValue(static_cast<double>(cache_.bytes)));
  context.SetDerived("last_level_cache_source", TextValue(cache_.source));
  return Map(context, Threads::kMulti, "touching memory");
}

absl::Status MemoryStream::RunOnce(WorkContext& context, v1::Repetition& repetition) {
  const auto passes = static_cast<unsigned>(context.Number("passes"));
  double done = 0;
  for (const auto& [threads, threads_name] : kThreads) {
    if (several_nodes_) {
      absl::Status mapped = Map(context, threads, nullptr);
      if (!mapped.ok()) return mapped;
    }
    StreamTeam team = Team(context, threads);
    for (const auto& [stores, stores_name] : kStores) {
      const StreamVariant* variant = stores == Stores::kScalar ? &ScalarStream() : BestStream();
      context.Report(std::string(stores_name) + " " + threads_name, done, kNoRate, v1::UNIT_BYTES_PER_SECOND);
      done += 0.25;
      StreamTimes times;
      const UsageSnapshot begin = TakeUsage();
      if (variant != nullptr) {
        absl::Status status = team.Run(arrays_, *variant, passes, times);
        if (!status.ok()) return status;
      }
      const auto count = static_cast<unsigned>(threads == Threads::kSingle ? 1 : cpus_.size());
      const Usage usage = UsageBetween(begin, TakeUsage(), 0);
      AddRates(arrays_, team, variant != nullptr ? *variant : StreamVariant{}, times, usage, stores_name, threads_name,
               count, repetition);
    }
  }
  if (plan_.fits_in_cache) {
    v1::Flag& flag = *repetition.add_flags();
    flag.set_name("array < 4 × LLC");
    flag.set_evidence(
        "arrays of " + FormatQuantity(static_cast<double>(plan_.array_bytes), Unit::kBytes, UnitFamily::kIec) +
        ", last-level cache " + FormatQuantity(static_cast<double>(cache_.bytes), Unit::kBytes, UnitFamily::kIec) +
        " (" + cache_.source + ")");
  }
  context.Report("done", 1, kNoRate, v1::UNIT_BYTES_PER_SECOND);
  return absl::OkStatus();
}

void MemoryStream::AddRates(const StreamArrays& arrays, const StreamTeam& team, const StreamVariant& variant,
                            const StreamTimes& times, const Usage& usage, const char* stores, const char* threads_name,
                            unsigned threads, v1::Repetition& repetition) const {
  for (const StreamKernel kernel : kKernels) {
    const std::vector<double>& seconds = times.seconds[static_cast<size_t>(kernel)];
    const double bytes = StreamBytesPerElement(kernel) * static_cast<double>(team.PassCount(arrays));
    std::vector<double> rates;
    double elapsed = 0;
    for (const double pass : seconds) {
      rates.push_back(bytes / pass);
      elapsed += pass;
    }
    const std::pair<const char*, std::optional<double>> values[] = {{"", Median(rates)}, {".peak", Maximum(rates)}};
    for (const auto& [suffix, value] : values) {
      v1::Measurement& measurement = *repetition.add_measurements();
      measurement.set_metric(MetricName(kernel, stores, threads_name) + suffix);
      measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
      measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
      if (!value) {
        measurement.set_missing_reason("no streaming stores are known for this architecture");
        continue;
      }
      measurement.set_value(*value);
      measurement.set_elapsed_seconds(elapsed);
      measurement.set_operations(static_cast<double>(seconds.size()));
      SetCost(usage, std::min(1.0, elapsed / usage.elapsed_seconds), measurement);  // the kernels' passes take turns
      (*measurement.mutable_derived_parameters())["isa"] = TextValue(variant.isa);
      if (IsImplausibleStreamRate(*value, threads)) {
        v1::Flag& flag = *measurement.add_flags();
        flag.set_name("implausible");
        flag.set_evidence(FormatQuantity(*value, Unit::kBytesPerSecond) + " with " + std::to_string(threads) +
                          " threads is more than memory can do");
      }
    }
  }
}

}  // namespace

const WorkloadEntry& MemoryStreamEntry() {
  static const WorkloadEntry& entry =
      *new WorkloadEntry{MakeDescriptor(), [] { return std::make_unique<MemoryStream>(); }};
  return entry;
}

}  // namespace fleetmark::agent
