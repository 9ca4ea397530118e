// Frames: the run at first and at each change, the last one always, and errors instead.
#include "tests/collector/service/watch/watch_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchHubTest : public WatchHubFixture {};

TEST_F(WatchHubTest, EveryWatcherBeginsWithTheRunAndHearsOfAChangeOnce) {
  runs_.Put(RunOf(1, v1::RUN_STATE_CREATED, v1::TASK_STATE_QUEUED));
  StartHub();
  const auto first = WatchAndSee(1);
  const auto second = WatchAndSee(1);
  ASSERT_TRUE(AwaitLooks(1));
  EXPECT_THAT(first->frames(), SizeIs(1)) << "a second watcher is no news for the first";
  EXPECT_THAT(second->frames(), SizeIs(1));

  runs_.Put(RunOf(1));
  ASSERT_TRUE(AwaitLooks(1));
  for (const auto& watcher : {first, second}) {
    ASSERT_THAT(watcher->frames(), SizeIs(2));
    EXPECT_EQ(watcher->frames()[0].state(), v1::RUN_STATE_CREATED);
    EXPECT_EQ(watcher->frames()[1].state(), v1::RUN_STATE_RUNNING);
    EXPECT_FALSE(watcher->over());
  }
}

TEST_F(WatchHubTest, EachWatcherSeesItsOwnRun) {
  runs_.Put(RunOf(1));
  runs_.Put(RunOf(2));
  StartHub();
  const auto one = WatchAndSee(1);
  const auto two = WatchAndSee(2);
  runs_.Put(RunOf(2, v1::RUN_STATE_FAILED, v1::TASK_STATE_FAILED));
  ASSERT_TRUE(Await([&] { return two->over(); }));
  ASSERT_TRUE(AwaitLooks(1));
  EXPECT_THAT(one->frames(), SizeIs(1));
  EXPECT_EQ(one->frames()[0].id(), 1);
}

// What a person reads in a frame is made here: the reason for which nothing happens.
TEST_F(WatchHubTest, AFrameSaysWhyATaskWaits) {
  v1::Run run = RunOf(1, v1::RUN_STATE_CREATED, v1::TASK_STATE_QUEUED);
  run.mutable_tasks(0)->set_host_connected(false);
  runs_.Put(run);
  StartHub();
  EXPECT_THAT(WatchAndSee(1)->frames()[0].tasks(0).reason(), ::testing::HasSubstr("not connected"));
}

// Progress goes its own way: a frame per progress row would be one a second and task.
TEST_F(WatchHubTest, ProgressInTheRowsIsNoChangeOfState) {
  v1::Run run = RunOf(1);
  *run.mutable_tasks(0)->mutable_progress() = ProgressOf(10, 0.1);
  runs_.Put(run);
  StartHub();
  const auto watcher = WatchAndSee(1);
  EXPECT_EQ(watcher->frames()[0].tasks(0).progress().fraction(), 0.1) << "who begins in the middle sees how far it is";
  for (int i = 2; i < 9; ++i) {
    run.mutable_tasks(0)->mutable_progress()->set_fraction(0.1 * i);
    runs_.Put(run);
    ASSERT_TRUE(AwaitLooks(1));
  }
  EXPECT_THAT(watcher->frames(), SizeIs(1));
}

TEST_F(WatchHubTest, TheLastFrameComesOnceAndEndsTheWatching) {
  for (const v1::RunState end :
       {v1::RUN_STATE_SUCCEEDED, v1::RUN_STATE_PARTIAL, v1::RUN_STATE_FAILED, v1::RUN_STATE_CANCELLED}) {
    runs_.Put(RunOf(1));
    runs_.Put(RunOf(2));
    StartHub();
    const auto first = WatchAndSee(1);
    const auto second = WatchAndSee(1);
    const auto clock = WatchAndSee(2);
    runs_.Put(RunOf(1, end, v1::TASK_STATE_SUCCEEDED));
    ASSERT_TRUE(Await([&] { return first->over() && second->over(); }));
    const int looks = Looks(1);
    hub_->RunChanged(1);
    hub_->RunChanged(0);
    ASSERT_TRUE(AwaitLooks(2));
    EXPECT_EQ(Looks(1), looks) << "nobody watches any more";
    for (const auto& watcher : {first, second}) {
      EXPECT_THAT(watcher->frames(), SizeIs(2));
      EXPECT_EQ(watcher->frames().back().state(), end);
      EXPECT_THAT(watcher->errors(), IsEmpty());
    }
    hub_->Shutdown();
    EXPECT_THAT(first->errors(), IsEmpty()) << "nothing follows the last frame";
  }
}

TEST_F(WatchHubTest, ARunThatIsOverIsOneFrameAndTheLast) {
  runs_.Put(RunOf(1, v1::RUN_STATE_PARTIAL, v1::TASK_STATE_FAILED));
  StartHub();
  const auto watcher = Watch(1);
  ASSERT_TRUE(Await([&] { return watcher->over(); }));
  EXPECT_THAT(watcher->frames(), SizeIs(1));
}

// The exact states: a new one must be put on one of the sides.
TEST_F(WatchHubTest, FinalStatesAreOver) {
  for (const v1::RunState state : {v1::RUN_STATE_UNSPECIFIED, v1::RUN_STATE_CREATED, v1::RUN_STATE_RUNNING}) {
    EXPECT_FALSE(IsOver(state)) << v1::RunState_Name(state);
  }
  for (int state = v1::RUN_STATE_SUCCEEDED; state <= v1::RunState_MAX; ++state) {
    EXPECT_TRUE(IsOver(static_cast<v1::RunState>(state)));
  }
}

TEST_F(WatchHubTest, ARunThatDoesNotExistIsAnErrorForEachWatcher) {
  runs_.Put(RunOf(1));
  StartHub();
  const auto stranger = Watch(4711);
  ASSERT_TRUE(Await([&] { return !stranger->errors().empty(); }));
  EXPECT_EQ(stranger->errors()[0].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(stranger->frames(), IsEmpty());

  // Also one that has been seen: it is gone.
  const auto first = WatchAndSee(1);
  const auto second = WatchAndSee(1);
  runs_.Erase(1);
  ASSERT_TRUE(Await([&] { return !first->errors().empty() && !second->errors().empty(); }));
  const auto clock = Watch(2);
  ASSERT_TRUE(Await([&] { return !clock->errors().empty(); }));
  EXPECT_THAT(first->errors(), SizeIs(1));
}

// C-115, C-117: an outage is no error of the run; whoever watches gets on when the database is back.
TEST_F(WatchHubTest, WhileTheDatabaseIsAwayWatchersWait) {
  runs_.Put(RunOf(1));
  StartHub();
  const auto known = WatchAndSee(1);
  runs_.Fail("*", absl::UnavailableError("the database is away"));
  const auto fresh = Watch(1);
  const auto alone = Watch(2);
  ASSERT_TRUE(AwaitLooks(1));
  ASSERT_TRUE(AwaitLooks(2));
  EXPECT_THAT(fresh->frames(), IsEmpty());
  EXPECT_THAT(known->frames(), SizeIs(1));
  runs_.Put(RunOf(2));
  runs_.Fail("*", absl::OkStatus());
  EXPECT_TRUE(Await([&] { return !alone->frames().empty(); }));
  // The run has not changed meanwhile: only the one who came during the outage has something to learn.
  EXPECT_TRUE(Await([&] { return !fresh->frames().empty(); }));
  ASSERT_TRUE(AwaitLooks(1));
  EXPECT_THAT(fresh->frames(), SizeIs(1));
  EXPECT_THAT(known->frames(), SizeIs(1));
  for (const auto& watcher : {known, fresh, alone}) EXPECT_THAT(watcher->errors(), IsEmpty());
  runs_.Put(RunOf(1, v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED));
  EXPECT_TRUE(Await([&] { return known->over() && fresh->over(); }));
}

TEST_F(WatchHubTest, AWatcherThatIsGoneCostsNothingMore) {
  runs_.Put(RunOf(1));
  runs_.Put(RunOf(2));
  StartHub();
  auto leaver = WatchAndSee(1);
  const auto stayer = WatchAndSee(1);
  const auto clock = WatchAndSee(2);
  leaver.reset();
  runs_.Put(RunOf(1, v1::RUN_STATE_RUNNING, v1::TASK_STATE_ASSIGNED));
  ASSERT_TRUE(Await([&] { return stayer->frames().size() == 2; }));

  auto last = WatchAndSee(1);
  std::weak_ptr<RecordingWatcher> weak = last;
  last.reset();
  EXPECT_TRUE(Await([&] { return weak.expired(); })) << "the hub keeps nobody alive";
  ASSERT_TRUE(AwaitLooks(1)) << "somebody still watches";
}

TEST_F(WatchHubTest, WithoutWatchersARunIsNotLookedAt) {
  runs_.Put(RunOf(1));
  runs_.Put(RunOf(2));
  StartHub();
  auto watcher = WatchAndSee(1);
  const auto clock = WatchAndSee(2);
  watcher.reset();
  ASSERT_TRUE(AwaitLooks(2));  // it has found out
  const int looks = Looks(1);
  ASSERT_TRUE(AwaitLooks(2));
  EXPECT_EQ(Looks(1), looks);
}

// A change that another collector made: its notification names the run, or none after a reconnection. The time of the
// poll never comes here.
TEST_F(WatchHubTest, ANotificationOfAnotherCollectorIsLookedAtWithoutWaitingForThePoll) {
  options_.poll = absl::Hours(1);
  runs_.Put(RunOf(1));
  runs_.Put(RunOf(2));
  StartHub();
  const auto one = WatchAndSee(1);
  const auto two = WatchAndSee(2);
  runs_.Put(RunOf(1, v1::RUN_STATE_RUNNING, v1::TASK_STATE_ASSIGNED));
  hub_->RunChanged(1);
  ASSERT_TRUE(Await([&] { return one->frames().size() == 2; }));
  EXPECT_EQ(Looks(2), 1);

  hub_->RunChanged(3);  // nobody here watches it
  EXPECT_EQ(Looks(3), 0);

  runs_.Put(RunOf(1, v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED));
  runs_.Put(RunOf(2, v1::RUN_STATE_SUCCEEDED, v1::TASK_STATE_SUCCEEDED));
  hub_->RunChanged(0);
  EXPECT_TRUE(Await([&] { return one->over() && two->over(); }));
  EXPECT_EQ(Looks(3), 0);
}

// C-120: notifications are hints.
TEST_F(WatchHubTest, AChangeWithoutANotificationIsFoundByThePoll) {
  options_.exchange = absl::Milliseconds(2);
  options_.poll = absl::Milliseconds(10);
  runs_.Put(RunOf(1));
  StartHub();
  const auto watcher = WatchAndSee(1);
  runs_.Put(RunOf(1, v1::RUN_STATE_CANCELLED, v1::TASK_STATE_CANCELLED));
  EXPECT_TRUE(Await([&] { return watcher->over(); }));
}

// C-139: a collector that stops tells its watchers, who go to another one.
TEST_F(WatchHubTest, StoppingIsAnErrorForAllWhoWatchAndForThoseWhoComeLater) {
  options_.poll = absl::Hours(1);
  runs_.Put(RunOf(1));
  StartHub();
  const auto first = WatchAndSee(1);
  const auto second = WatchAndSee(1);
  hub_->Shutdown();
  const auto late = Watch(1);
  hub_->Shutdown();
  for (const auto& watcher : {first, second, late}) {
    ASSERT_THAT(watcher->errors(), SizeIs(1));
    EXPECT_EQ(watcher->errors()[0].code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_THAT(late->frames(), IsEmpty());
}

}  // namespace
}  // namespace fleetmark::collector
