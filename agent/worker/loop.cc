#include "agent/worker/loop.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/platform/usage.h"
#include "agent/worker/context.h"
#include "agent/worker/sanitize.h"
#include "common/statistics/stop_rule.h"
#include "common/summary/summary.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr double kSleepThatCounts = 1;  // seconds

StopRule StopRuleOf(const v1::RepetitionRule& rule) {
  StopRule result;
  if (rule.has_exactly()) result.exactly = static_cast<int>(rule.exactly());
  if (rule.has_least()) result.least = static_cast<int>(rule.least());
  if (rule.has_most()) result.most = static_cast<int>(rule.most());
  result.most = std::max(result.most, result.least);
  if (rule.has_budget_seconds()) result.budget = absl::Seconds(rule.budget_seconds());
  return result;
}

// Everything one call of RunLoop needs; methods in the order of their use.
class Loop {
 public:
  Loop(const WorkloadEntry& entry, const v1::WorkerStart& start, const std::string& scratch_directory,
       const LoopDependencies& dependencies)
      : entry_(entry),
        start_(start),
        dependencies_(dependencies),
        workload_(entry.make()),
        rule_(StopRuleOf(start.repetition_rule())),
        estimate_(ExpectedPasses(0, std::nullopt)),
        context_(entry.descriptor, start, scratch_directory, dependencies, estimate_),
        begin_ns_(dependencies.clock->MonotonicNs()),
        begin_slept_ns_(SleptNs()) {}

  v1::TaskFinished Run() {
    const absl::Status status = Measure();
    context_.SetPhase(v1::PHASE_CLEANING_UP, 0);
    workload_->Cleanup(context_);
    Conclude(status);
    return finished_;
  }

 private:
  unsigned ExpectedPasses(int done, std::optional<double> projected) const {
    int repetitions = rule_.exactly;
    if (repetitions <= 0) {
      repetitions = std::max(rule_.least, done + 1);
      if (projected.has_value()) {
        repetitions = static_cast<int>(std::clamp<double>(std::ceil(*projected), repetitions, rule_.most));
      }
    }
    return static_cast<unsigned>(repetitions) + workload_->warmups();
  }

  int64_t SleptNs() const { return dependencies_.clock->BootNs() - dependencies_.clock->MonotonicNs(); }

  // C-090: no rate is made of a clock that stood still while the machine slept.
  absl::Status CheckAwake() {
    const double slept = static_cast<double>(SleptNs() - begin_slept_ns_) / 1e9;
    if (slept <= kSleepThatCounts) return absl::OkStatus();
    suspended_ = true;
    return absl::AbortedError(absl::StrCat("interrupted(suspend): the machine slept for ",
                                           FormatTimeSpan(absl::Seconds(slept)), " while it was measured"));
  }

  // A workload that gives up early because it was told to has been cancelled, whatever it returns.
  absl::Status AfterStep(const absl::Status& status) {
    if (dependencies_.cancellation->requested()) return absl::CancelledError("cancelled");
    const absl::Status awake = CheckAwake();
    return awake.ok() ? status : awake;
  }

  absl::Status Measure() {
    estimate_.BeginPreparation(context_.NowSeconds());
    context_.SetPhase(v1::PHASE_PREPARING, 0);
    const absl::Status prepared = AfterStep(workload_->Prepare(context_));
    if (!prepared.ok()) return prepared;
    prepare_seconds_ = context_.NowSeconds() - static_cast<double>(begin_ns_) / 1e9;
    for (unsigned warmup = 1; warmup <= workload_->warmups(); ++warmup) {
      const absl::Status status = Pass(warmup, true);
      if (!status.ok()) return status;
    }
    const int64_t repetitions_begin_ns = dependencies_.clock->MonotonicNs();
    for (int done = 0;;) {
      const absl::Status status = Pass(static_cast<uint32_t>(done + 1), false);
      if (!status.ok()) return status;
      ++done;
      finished_.set_repetitions(static_cast<uint32_t>(done));
      const absl::Duration elapsed = absl::Nanoseconds(dependencies_.clock->MonotonicNs() - repetitions_begin_ns);
      const StopDecision decision = DecideStop(rule_, SeriesForStopRule(repetitions_), done, elapsed);
      if (decision.stop()) {
        finished_.set_stop_reason(std::string(StopReasonName(decision.reason)));
        if (decision.reason == StopReason::kNoisy) FlagNoisy(decision);
        return absl::OkStatus();
      }
      estimate_.Expect(ExpectedPasses(done, decision.projected_repetitions));
    }
  }

  absl::Status Pass(uint32_t number, bool warmup) {
    context_.SetPhase(warmup ? v1::PHASE_WARMING_UP : v1::PHASE_MEASURING, warmup ? 0 : number);
    estimate_.BeginPass(context_.NowSeconds());
    v1::Repetition repetition;
    repetition.set_started_unix_seconds(absl::ToDoubleSeconds(dependencies_.clock->Now() - absl::UnixEpoch()));
    ConditionsProbe probe;
    probe.Begin();
    const double begin = context_.NowSeconds();
    const absl::Status status = AfterStep(workload_->RunOnce(context_, repetition));
    const double end = context_.NowSeconds();
    if (!status.ok()) return status;
    probe.End(*repetition.mutable_conditions());
    estimate_.EndPass(end);
    repetition.set_number(number);
    repetition.set_warmup(warmup);
    if (!repetition.has_measure_seconds()) repetition.set_measure_seconds(end - begin);
    if (!repetition.has_prepare_seconds() && prepare_seconds_.has_value()) {
      repetition.set_prepare_seconds(*std::exchange(prepare_seconds_, std::nullopt));
    }
    FlagByConditions(repetition);
    SanitizeRepetition(entry_.descriptor, repetition);
    const absl::Status sent = SendPass(repetition);
    if (sent.ok() && !warmup) KeepForStopRule(repetition);
    return sent;
  }

  static void AddFlag(v1::Repetition& repetition, const char* name, std::string evidence) {
    v1::Flag& flag = *repetition.add_flags();
    flag.set_name(name);
    flag.set_evidence(std::move(evidence));
  }

  static void FlagByConditions(v1::Repetition& repetition) {
    const v1::Conditions& conditions = repetition.conditions();
    if (conditions.swapped_bytes() > 0) {
      AddFlag(repetition, "swapped",
              absl::StrCat(FormatQuantity(conditions.swapped_bytes(), Unit::kBytes), " were swapped meanwhile"));
    }
    if (conditions.cpu_quota_throttled_seconds() > 0) {
      AddFlag(repetition, "throttled",
              absl::StrCat("the CPU quota held this process back for ",
                           FormatQuantity(conditions.cpu_quota_throttled_seconds(), Unit::kSeconds)));
    }
  }

  absl::Status SendPass(const v1::Repetition& repetition) {
    for (v1::SampleBatch& samples : context_.TakeSamples()) {
      if (repetition.warmup()) continue;
      if (samples.repetition() == 0) samples.set_repetition(repetition.number());
      for (v1::SampleBatch& batch : SanitizeSamples(samples)) {
        v1::WorkerEvent event;
        *event.mutable_samples() = std::move(batch);
        const absl::Status sent = dependencies_.channel->Send(event);
        if (!sent.ok()) return sent;
      }
    }
    v1::WorkerEvent event;
    *event.mutable_repetition() = repetition;
    const absl::Status sent = dependencies_.channel->Send(event);
    if (!sent.ok()) return sent;
    if (!dependencies_.channel->WaitForProceed()) return absl::CancelledError("cancelled");
    return absl::OkStatus();
  }

  // The histograms are with the executor by now; the rule needs only the values.
  void KeepForStopRule(v1::Repetition repetition) {
    for (v1::Measurement& measurement : *repetition.mutable_measurements()) measurement.clear_latency_histogram();
    repetitions_.push_back(std::move(repetition));
  }

  void FlagNoisy(const StopDecision& decision) {
    v1::Flag& flag = *finished_.add_flags();
    flag.set_name("noisy");
    std::string evidence = "the repetitions differ too much for a precise median";
    if (decision.cv.has_value()) {
      absl::StrAppend(&evidence, ": the coefficient of variation is ", FormatQuantity(*decision.cv, Unit::kRatio));
    }
    if (decision.projected_repetitions.has_value() && *decision.projected_repetitions < 100'000) {
      absl::StrAppend(&evidence, ", some ", static_cast<int>(std::ceil(*decision.projected_repetitions)),
                      " repetitions would be needed");
    }
    flag.set_evidence(std::move(evidence));
  }

  // C-012: a task whose every measurement lacks its value has measured nothing, whatever the workload returned.
  std::string WhyNoValue() const {
    std::string why;
    for (const v1::Repetition& repetition : repetitions_) {
      for (const v1::Measurement& measurement : repetition.measurements()) {
        if (measurement.has_value()) return "";
        if (why.empty()) why = absl::StrCat("no samples: ", measurement.metric(), ": ", measurement.missing_reason());
      }
    }
    return why;
  }

  void Conclude(const absl::Status& status) {
    const auto set = [&](v1::TaskOutcome outcome, std::string reason) {
      finished_.set_outcome(outcome);
      finished_.set_reason(std::move(reason));
    };
    const std::string message = CleanUtf8(std::string(status.message()));
    if (suspended_) {
      set(v1::TASK_OUTCOME_INTERRUPTED, message);
    } else if (dependencies_.cancellation->cause() == StopCause::kDeadline && !status.ok()) {
      set(v1::TASK_OUTCOME_FAILED,
          absl::StrCat(entry_.descriptor.name(), " did not end within its ",
                       FormatTimeSpan(absl::Seconds(start_.deadline_seconds())),
                       "; give it more with max_duration in this host's configuration, or ask for less"));
    } else if (status.ok()) {
      const std::string none = WhyNoValue();
      set(none.empty() ? v1::TASK_OUTCOME_SUCCEEDED : v1::TASK_OUTCOME_FAILED, none);
    } else if (absl::IsCancelled(status)) {
      set(v1::TASK_OUTCOME_CANCELLED, "cancelled");
    } else if (IsSkipped(status)) {
      set(v1::TASK_OUTCOME_SKIPPED, message);
    } else {
      set(v1::TASK_OUTCOME_FAILED, message.empty() ? std::string("failed without a reason") : message);
    }
    for (const auto& [name, value] : context_.derived()) (*finished_.mutable_derived_parameters())[name] = value;
    finished_.set_elapsed_seconds(context_.NowSeconds() - static_cast<double>(begin_ns_) / 1e9);
    MakeFinite(finished_);
  }

  const WorkloadEntry& entry_;
  const v1::WorkerStart& start_;
  const LoopDependencies& dependencies_;
  const std::unique_ptr<Workload> workload_;
  const StopRule rule_;
  ProgressEstimate estimate_;
  LoopContext context_;
  const int64_t begin_ns_;
  const int64_t begin_slept_ns_;
  std::optional<double> prepare_seconds_;
  std::vector<v1::Repetition> repetitions_;
  bool suspended_ = false;
  v1::TaskFinished finished_;
};

}  // namespace

v1::TaskFinished RunLoop(const WorkloadEntry& workload, const v1::WorkerStart& start,
                         const std::string& scratch_directory, const LoopDependencies& dependencies) {
  return Loop(workload, start, scratch_directory, dependencies).Run();
}

}  // namespace fleetmark::agent
