#include "agent/engine/lane_recorder.h"

#include "gtest/gtest.h"

namespace fleetmark::agent {
namespace {

class LaneRecorderTest : public ::testing::Test {
 protected:
  LaneRecorderTest() {
    IoJob job;
    job.run_seconds = 1;
    recorder_ = std::make_unique<LaneRecorder>(job);
  }

  // Nanoseconds after the start of the job, as ticks.
  uint64_t At(int64_t nanoseconds) const { return kStart + clock_.FromNs(nanoseconds); }
  void Window(int64_t ramp_ns, int64_t run_ns, bool shared = false) {
    recorder_->SetWindow(At(0), At(ramp_ns), clock_.FromNs(run_ns), shared);
  }
  // A completion at `now_ns` of something submitted `latency_ns` before. Whether to go on.
  bool Complete(int64_t now_ns, int64_t latency_ns = 1000) {
    recorder_->BeginBatch(At(now_ns));
    recorder_->Complete(false, At(now_ns - latency_ns));
    return recorder_->EndBatch();
  }

  static constexpr uint64_t kStart = uint64_t{1} << 50;
  const TickClock& clock_ = TickClock::Get();
  std::unique_ptr<LaneRecorder> recorder_;
};

constexpr int64_t kMs = 1'000'000;

// C-008: what happens before the window is not in it.
TEST_F(LaneRecorderTest, RampIsNotCountedAndTheFirstAfterItOpensTheWindow) {
  Window(100 * kMs, 1000 * kMs);
  EXPECT_TRUE(Complete(50 * kMs));
  EXPECT_FALSE(recorder_->window_opened());
  EXPECT_TRUE(Complete(130 * kMs));
  EXPECT_TRUE(recorder_->window_opened());
  EXPECT_EQ(recorder_->counted(false), 0u);
  EXPECT_TRUE(Complete(160 * kMs));
  EXPECT_EQ(recorder_->counted(false), 1u);
  EXPECT_EQ(recorder_->completed_reads(), 3u);
  EXPECT_EQ(recorder_->begin(), At(130 * kMs));
}

// C-009: the window ends with an operation, and its length is what was measured.
TEST_F(LaneRecorderTest, FirstCompletionAfterTheEndIsCountedAndClosesTheWindow) {
  Window(0, 1000 * kMs);
  EXPECT_TRUE(Complete(400 * kMs));
  EXPECT_TRUE(Complete(800 * kMs));
  EXPECT_FALSE(Complete(1200 * kMs));
  EXPECT_EQ(recorder_->counted(false), 3u);
  EXPECT_NEAR(static_cast<double>(clock_.ToNs(recorder_->begin(), recorder_->end())), 1200e6, 1000);
}

TEST_F(LaneRecorderTest, AStallStretchesTheWindowInsteadOfVanishing) {
  Window(0, 1000 * kMs);
  EXPECT_TRUE(Complete(100 * kMs));
  EXPECT_FALSE(Complete(9000 * kMs, 8900 * kMs));
  EXPECT_EQ(recorder_->counted(false), 2u);
  EXPECT_NEAR(recorder_->histogram(false)->max_seconds().value_or(0), 8.9, 0.001);
  EXPECT_EQ(recorder_->intervals()[90], 1u);
}

// A device that stalls when the ramp ends does not shorten the window.
TEST_F(LaneRecorderTest, WindowHasItsPlannedLengthWheneverItOpens) {
  Window(100 * kMs, 1000 * kMs);
  EXPECT_TRUE(Complete(900 * kMs));  // opens
  EXPECT_TRUE(Complete(1500 * kMs));
  EXPECT_FALSE(Complete(1900 * kMs));
  EXPECT_EQ(recorder_->counted(false), 2u);
}

// Lanes of one job: a lane that got no CPU at first does not count its late start as a window of its own.
TEST_F(LaneRecorderTest, SharedWindowIsFixed) {
  Window(100 * kMs, 1000 * kMs, true);
  EXPECT_TRUE(Complete(50 * kMs));
  EXPECT_TRUE(Complete(1000 * kMs));
  EXPECT_TRUE(Complete(1099 * kMs));
  EXPECT_FALSE(Complete(1101 * kMs));
  EXPECT_EQ(recorder_->counted(false), 2u);
  EXPECT_EQ(recorder_->completed_reads(), 4u);
  EXPECT_NEAR(static_cast<double>(clock_.ToNs(recorder_->begin(), recorder_->end())), 1000e6, 1000);
}

TEST_F(LaneRecorderTest, IntervalsAreOnTheGridOfTheWindow) {
  Window(50 * kMs, 1000 * kMs);
  Complete(60 * kMs);  // opens
  Complete(70 * kMs);  // interval 0: [50, 150)
  Complete(149 * kMs);
  Complete(151 * kMs);  // interval 1
  Complete(349 * kMs);  // interval 2
  EXPECT_EQ(recorder_->intervals()[0], 2u);
  EXPECT_EQ(recorder_->intervals()[1], 1u);
  EXPECT_EQ(recorder_->intervals()[2], 1u);
}

TEST_F(LaneRecorderTest, NothingCountedWithoutOperations) {
  Window(100 * kMs, 1000 * kMs);
  EXPECT_FALSE(recorder_->window_opened());
  EXPECT_EQ(recorder_->counted(false), 0u);
  EXPECT_FALSE(recorder_->histogram(false)->max_seconds().has_value());
}

TEST_F(LaneRecorderTest, KeepsTheFirstErrorOnly) {
  recorder_->Fail({5, false, 4096, 512});
  recorder_->Fail({28, true, 0, 512});
  EXPECT_EQ(recorder_->error()->error, 5);
}

}  // namespace
}  // namespace fleetmark::agent
