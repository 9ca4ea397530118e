#include "agent/worker/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "common/time/fake_clock.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

// A workload made of the test's functions.
struct Script {
  std::function<absl::Status(WorkContext&)> prepare = [](WorkContext&) { return absl::OkStatus(); };
  std::function<absl::Status(WorkContext&, v1::Repetition&)> run = [](WorkContext&, v1::Repetition&) {
    return absl::OkStatus();
  };
  unsigned warmups = 0;
  int cleanups = 0;
};

class ScriptedWorkload : public Workload {
 public:
  explicit ScriptedWorkload(Script& script) : script_(script) {}
  absl::Status Prepare(WorkContext& context) override { return script_.prepare(context); }
  absl::Status RunOnce(WorkContext& context, v1::Repetition& repetition) override {
    return script_.run(context, repetition);
  }
  void Cleanup(WorkContext&) override { ++script_.cleanups; }
  unsigned warmups() const override { return script_.warmups; }

 private:
  Script& script_;
};

class LoopTest : public ::testing::Test, public WorkerChannel {
 protected:
  LoopTest() {
    entry_.descriptor.set_name("test.loop");
    v1::MetricDescriptor& metric = *entry_.descriptor.add_metrics();
    metric.set_name("rate");
    metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
    metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    entry_.make = [this] { return std::make_unique<ScriptedWorkload>(script_); };
    start_.set_workload("test.loop");
    start_.set_target_path("/");
    start_.set_deadline_seconds(100);
    start_.mutable_repetition_rule()->set_exactly(3);
  }

  absl::Status Send(const v1::WorkerEvent& event) override {
    if (event.has_progress()) progress_.push_back(event.progress());
    if (event.has_repetition()) repetitions_.push_back(event.repetition());
    if (event.has_samples()) samples_.push_back(event.samples());
    return absl::OkStatus();
  }
  bool WaitForProceed() override {
    ++waits_;
    return proceed_;
  }

  v1::TaskFinished Run() { return RunLoop(entry_, start_, "", {&clock_, this, &cancellation_}); }

  // Each pass takes a second and yields the next of these values.
  void Measure(std::vector<double> values) {
    script_.run = [this, values, next = size_t{0}](WorkContext&, v1::Repetition& repetition) mutable {
      clock_.Advance(absl::Seconds(1));
      v1::Measurement& measurement = *repetition.add_measurements();
      measurement.set_metric("rate");
      measurement.set_value(values[next++ % values.size()]);
      return absl::OkStatus();
    };
  }

  FakeClock clock_;
  Cancellation cancellation_;
  Script script_;
  WorkloadEntry entry_;
  v1::WorkerStart start_;
  std::vector<v1::Progress> progress_;
  std::vector<v1::Repetition> repetitions_;
  std::vector<v1::SampleBatch> samples_;
  int waits_ = 0;
  bool proceed_ = true;
};

TEST_F(LoopTest, RepeatsAsOftenAsAskedAndWaitsAfterEach) {
  script_.warmups = 2;
  Measure({10, 20, 30, 40, 50});
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_SUCCEEDED) << finished.reason();
  EXPECT_EQ(finished.stop_reason(), "asked");
  EXPECT_EQ(finished.repetitions(), 3u);
  EXPECT_EQ(waits_, 5);
  ASSERT_EQ(repetitions_.size(), 5u);
  EXPECT_TRUE(repetitions_[1].warmup());
  EXPECT_EQ(repetitions_[1].number(), 2u);
  EXPECT_FALSE(repetitions_[2].warmup());
  EXPECT_EQ(repetitions_[2].number(), 1u);
  EXPECT_EQ(repetitions_[4].number(), 3u);
  EXPECT_EQ(script_.cleanups, 1);
}

// A queue of 16 threads can be measured on two CPUs: only the host's owner says how many there may be.
TEST_F(LoopTest, TheCeilingOfThreadsIsThatOfTheConfiguration) {
  unsigned allowed = 0;
  script_.prepare = [&](WorkContext& context) {
    allowed = context.max_threads();
    return absl::OkStatus();
  };
  Measure({1});
  Run();
  EXPECT_GE(allowed, 1024u);
  start_.set_max_threads(3);
  Run();
  EXPECT_EQ(allowed, 3u);
}

// C-008: preparing and measuring are two durations.
TEST_F(LoopTest, PreparationIsNotMeasured) {
  script_.prepare = [this](WorkContext&) {
    clock_.Advance(absl::Seconds(40));
    return absl::OkStatus();
  };
  Measure({1});
  Run();
  EXPECT_EQ(repetitions_[0].prepare_seconds(), 40);
  EXPECT_EQ(repetitions_[0].measure_seconds(), 1);
  EXPECT_FALSE(repetitions_[1].has_prepare_seconds());
}

TEST_F(LoopTest, StopsWhenItIsPrecise) {
  start_.mutable_repetition_rule()->Clear();
  start_.mutable_repetition_rule()->set_least(6);
  start_.mutable_repetition_rule()->set_most(15);
  Measure({100, 101, 100, 99});
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.stop_reason(), "precise");
  EXPECT_EQ(finished.repetitions(), 6u);
}

TEST_F(LoopTest, FlagsWhatCannotBecomePrecise) {
  start_.mutable_repetition_rule()->Clear();
  start_.mutable_repetition_rule()->set_least(6);
  start_.mutable_repetition_rule()->set_most(15);
  Measure({100, 300, 20, 500, 80, 250});
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_SUCCEEDED);
  EXPECT_EQ(finished.stop_reason(), "noisy");
  ASSERT_EQ(finished.flags_size(), 1);
  EXPECT_EQ(finished.flags(0).name(), "noisy");
  EXPECT_THAT(finished.flags(0).evidence(), HasSubstr("coefficient of variation"));
}

TEST_F(LoopTest, TheBudgetEndsIt) {
  start_.mutable_repetition_rule()->Clear();
  start_.mutable_repetition_rule()->set_least(2);
  start_.mutable_repetition_rule()->set_most(15);
  start_.mutable_repetition_rule()->set_budget_seconds(4);
  Measure({100, 300, 20, 500, 80, 250});
  EXPECT_EQ(Run().stop_reason(), "budget");
  EXPECT_LE(repetitions_.size(), 4u);
}

// C-090: the machine sleeps for ten minutes in the middle of a repetition.
TEST_F(LoopTest, ASuspendInterruptsAndYieldsNoRate) {
  script_.run = [this, pass = 0](WorkContext&, v1::Repetition& repetition) mutable {
    clock_.Advance(absl::Seconds(30));
    if (++pass == 2) clock_.Sleep(absl::Minutes(10));
    repetition.add_measurements()->set_value(1);
    return absl::OkStatus();
  };
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_INTERRUPTED);
  EXPECT_THAT(finished.reason(), HasSubstr("interrupted(suspend)"));
  EXPECT_THAT(finished.reason(), HasSubstr("10 min"));
  EXPECT_EQ(repetitions_.size(), 1u);
  EXPECT_EQ(script_.cleanups, 1);
}

TEST_F(LoopTest, AStepOfTheWallClockIsNoSuspend) {
  script_.run = [this](WorkContext&, v1::Repetition& repetition) {
    clock_.Advance(absl::Seconds(1));
    clock_.StepWall(absl::Hours(-5));
    repetition.add_measurements()->set_value(1);
    return absl::OkStatus();
  };
  EXPECT_EQ(Run().outcome(), v1::TASK_OUTCOME_SUCCEEDED);
  EXPECT_EQ(repetitions_[1].measure_seconds(), 1);
}

// C-093: after a cancel no further phase starts, and cleaning up still happens.
TEST_F(LoopTest, ACancelEndsItWhateverTheWorkloadReturns) {
  int passes = 0;
  script_.run = [&](WorkContext&, v1::Repetition&) {
    if (++passes == 2) {
      cancellation_.Set(StopCause::kCancelled);
      return absl::InternalError("read: Interrupted system call");
    }
    return absl::OkStatus();
  };
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_CANCELLED);
  EXPECT_EQ(passes, 2);
  EXPECT_EQ(repetitions_.size(), 1u);
  EXPECT_EQ(script_.cleanups, 1);
}

TEST_F(LoopTest, TheDeadlineIsAFailure) {
  script_.run = [&](WorkContext&, v1::Repetition&) {
    cancellation_.Set(StopCause::kDeadline);
    return absl::CancelledError();
  };
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_THAT(finished.reason(), HasSubstr("max_duration"));
}

// C-012, C-013: without a single value there is no success.
TEST_F(LoopTest, NothingMeasuredIsAFailure) {
  int missing = 3;
  script_.run = [&](WorkContext&, v1::Repetition& repetition) {
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric("rate");
    if (missing-- > 0) {
      measurement.set_missing_reason("no operation completed");
    } else {
      measurement.set_value(7);
    }
    return absl::OkStatus();
  };
  const v1::TaskFinished nothing = Run();
  EXPECT_EQ(nothing.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(nothing.reason(), "no samples: rate: no operation completed");
  missing = 2;
  const v1::TaskFinished something = Run();
  EXPECT_EQ(something.outcome(), v1::TASK_OUTCOME_SUCCEEDED) << something.reason();
}

TEST_F(LoopTest, ErrorsAndSkipsOfPreparationAreCleanedUpAfter) {
  script_.prepare = [](WorkContext&) { return SkippedError("no space"); };
  EXPECT_EQ(Run().outcome(), v1::TASK_OUTCOME_SKIPPED);
  script_.prepare = [](WorkContext&) { return absl::InternalError("write data.bin: No space left on device"); };
  const v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_FAILED);
  EXPECT_EQ(finished.reason(), "write data.bin: No space left on device");
  EXPECT_EQ(script_.cleanups, 2);
  EXPECT_TRUE(repetitions_.empty());
}

TEST_F(LoopTest, ReportsAtMostFiveTimesASecondAndNeverBackwards) {
  script_.run = [this](WorkContext& context, v1::Repetition&) {
    for (int i = 0; i < 1000; ++i) {
      clock_.Advance(absl::Milliseconds(2));
      context.Report("step", i / 1000.0, i == 500 ? std::nan("") : 1e6, v1::UNIT_BYTES_PER_SECOND);
    }
    return absl::OkStatus();
  };
  Run();
  size_t reports = 0;
  double last = 0;
  for (const v1::Progress& progress : progress_) {
    reports += progress.step() == "step" ? 1 : 0;
    EXPECT_GE(progress.fraction(), last);
    last = progress.fraction();
  }
  EXPECT_GT(reports, 20u);
  EXPECT_LE(reports, 31u);  // 3 passes of 2 s
}

// C-094 (a): refused before the first byte, with the numbers.
TEST_F(LoopTest, TooLittleRoomIsSkippedWithTheNumbers) {
  start_.set_target_path("/tmp");
  script_.prepare = [](WorkContext& context) { return context.CheckRoomFor(uint64_t{1} << 60); };
  v1::TaskFinished finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_SKIPPED);
  EXPECT_THAT(finished.reason(), HasSubstr("are free"));
  start_.set_max_bytes(1000);
  script_.prepare = [](WorkContext& context) { return context.CheckRoomFor(2000); };
  finished = Run();
  EXPECT_EQ(finished.outcome(), v1::TASK_OUTCOME_SKIPPED);
  EXPECT_THAT(finished.reason(), HasSubstr("max_bytes: \"2000B\""));
  start_.set_min_free_bytes(0);
  script_.prepare = [](WorkContext& context) { return context.CheckRoomFor(1); };
  EXPECT_EQ(Run().outcome(), v1::TASK_OUTCOME_SUCCEEDED);
}

TEST_F(LoopTest, SamplesGoBeforeTheirRepetitionAndDerivedParametersToTheEnd) {
  script_.run = [](WorkContext& context, v1::Repetition&) {
    v1::SampleBatch samples;
    samples.set_metric("rate");
    samples.add_offset_deltas_us(1);
    samples.add_values(1);
    context.AddSamples(samples);
    v1::ParameterValue engine;
    engine.set_text("io_uring");
    context.SetDerived("engine", engine);
    return absl::OkStatus();
  };
  const v1::TaskFinished finished = Run();
  ASSERT_EQ(samples_.size(), 3u);
  EXPECT_EQ(samples_[2].repetition(), 3u);
  EXPECT_EQ(finished.derived_parameters().at("engine").text(), "io_uring");
}

TEST_F(LoopTest, WithoutTheExecutorItStops) {
  proceed_ = false;
  Measure({1});
  EXPECT_EQ(Run().outcome(), v1::TASK_OUTCOME_CANCELLED);
  EXPECT_EQ(repetitions_.size(), 1u);
}

}  // namespace
}  // namespace fleetmark::agent
