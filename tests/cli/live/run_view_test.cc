#include "cli/live/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/text.h"

namespace fleetmark::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

v1::WatchRunResponse RunOf(std::initializer_list<v1::TaskState> states, bool connected = true) {
  v1::WatchRunResponse frame;
  frame.mutable_run()->set_id(1);
  frame.mutable_run()->set_state(v1::RUN_STATE_RUNNING);
  int64_t id = 0;
  for (const v1::TaskState state : states) {
    v1::Task& task = *frame.mutable_run()->add_tasks();
    task.set_id(++id);
    task.set_host("mac-pro");
    task.set_host_id("id-1");
    task.set_workload("disk.profile");
    task.set_target("ssd");
    task.set_state(state);
    task.set_host_connected(connected);
  }
  return frame;
}

v1::WatchRunResponse ProgressOf(int64_t task, double fraction) {
  v1::WatchRunResponse frame;
  v1::Progress& progress = *frame.mutable_progress();
  progress.set_task_id(task);
  progress.set_phase(v1::PHASE_MEASURING);
  progress.set_step("rep 2 of 3");
  progress.set_fraction(fraction);
  progress.set_rate(2e8);
  progress.set_rate_unit(v1::UNIT_BYTES_PER_SECOND);
  progress.set_seconds_left(80);
  return frame;
}

TEST(RunViewTest, OneLinePerHostWithPercentRateAndTimeLeft) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING, v1::TASK_STATE_QUEUED}));
  view.Take(ProgressOf(1, 0.5));
  const auto lines = view.Lines(200, true, UnitFamily::kDecimal);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("mac-pro"));
  EXPECT_THAT(lines[0], HasSubstr(" 25%"));
  EXPECT_THAT(lines[0], HasSubstr("200.0 MB/s"));
  EXPECT_THAT(lines[0], HasSubstr("1 min 20 s left"));
  EXPECT_THAT(lines[0], HasSubstr("disk.profile on ssd, measuring rep 2 of 3"));
}

// C-151: narrow terminals.
TEST(RunViewTest, NeverWiderThanTheTerminal) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING}));
  view.Take(ProgressOf(1, 0.5));
  for (const int width : {20, 40, 80, 120}) {
    for (const std::string& line : view.Lines(width, true, UnitFamily::kDecimal)) {
      EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

TEST(RunViewTest, ProgressOfAFinishedTaskIsForgotten) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING}));
  view.Take(ProgressOf(1, 0.5));
  view.Take(RunOf({v1::TASK_STATE_SUCCEEDED}));
  EXPECT_THAT(view.Lines(200, true, UnitFamily::kDecimal)[0], HasSubstr("100%"));
}

TEST(RunViewTest, AnUnreachableHostIsSaidToBe) {
  RunView view;
  v1::WatchRunResponse frame = RunOf({v1::TASK_STATE_QUEUED}, false);
  frame.mutable_run()->mutable_tasks(0)->set_reason("waits for its host, which is not connected");
  view.Take(frame);
  EXPECT_THAT(view.Lines(200, true, UnitFamily::kDecimal)[0], EndsWith("  unreachable, waiting for its agent"));
}

TEST(RunViewTest, ChangesAreReportedOnce) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING}));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), SizeIs(1));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), IsEmpty());
  view.Take(RunOf({v1::TASK_STATE_FAILED}));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), SizeIs(1));
}

// C-151: a reason stands in a line of its own, whole, once.
TEST(RunViewTest, ATaskWithoutResultIsSaidOnceWithItsReason) {
  RunView view;
  v1::WatchRunResponse frame = RunOf({v1::TASK_STATE_SKIPPED, v1::TASK_STATE_SUCCEEDED, v1::TASK_STATE_CANCELLED});
  frame.mutable_run()->mutable_tasks(0)->set_reason("target ssd: /mnt/ssd does not exist");
  frame.mutable_run()->mutable_tasks(2)->set_reason("cancelled");
  view.Take(frame);
  EXPECT_THAT(view.NewWithoutResult(),
              ElementsAre("mac-pro: disk.profile on ssd skipped: target ssd: /mnt/ssd does not exist",
                          "mac-pro: disk.profile on ssd cancelled"));
  EXPECT_THAT(view.NewWithoutResult(), IsEmpty());
  EXPECT_THAT(view.Lines(200, true, UnitFamily::kDecimal)[0], HasSubstr("2 of 3 without result"));
}

TEST(RunViewTest, WhatIsWaitedForIsSaidOnce) {
  const auto shown = [](const std::string& step) {
    RunView view;
    view.Take(RunOf({v1::TASK_STATE_RUNNING}));
    v1::WatchRunResponse progress = ProgressOf(1, 0);
    progress.mutable_progress()->set_phase(v1::PHASE_WAITING);
    progress.mutable_progress()->set_step(step);
    view.Take(progress);
    return view.Lines(200, true, UnitFamily::kDecimal)[0];
  };
  EXPECT_THAT(shown("for a quiet machine: 2 CPUs are busy"),
              EndsWith(", waiting for a quiet machine: 2 CPUs are busy"));
  EXPECT_THAT(shown("another agent measures on this machine"),
              EndsWith(", waiting: another agent measures on this machine"));
  EXPECT_THAT(shown(""), EndsWith(", waiting"));
}

TEST(RunViewTest, FinalOnlyWhenTheRunIs) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING}));
  EXPECT_FALSE(view.final());
  v1::WatchRunResponse last = RunOf({v1::TASK_STATE_CANCELLED});
  last.mutable_run()->set_state(v1::RUN_STATE_CANCELLED);
  view.Take(last);
  EXPECT_TRUE(view.final());
}

}  // namespace
}  // namespace fleetmark::cli
