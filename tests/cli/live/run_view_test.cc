#include "cli/live/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text/text.h"

namespace fleetmark::cli {
namespace {

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
  view.Take(RunOf({v1::TASK_STATE_QUEUED}, false));
  EXPECT_THAT(view.Lines(200, true, UnitFamily::kDecimal)[0], HasSubstr("unreachable"));
}

TEST(RunViewTest, ChangesAreReportedOnce) {
  RunView view;
  view.Take(RunOf({v1::TASK_STATE_RUNNING}));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), SizeIs(1));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), IsEmpty());
  view.Take(RunOf({v1::TASK_STATE_FAILED}));
  EXPECT_THAT(view.Changes(UnitFamily::kDecimal), SizeIs(1));
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
