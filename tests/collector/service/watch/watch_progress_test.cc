// Progress: from agents connected here at once, from and to other collectors through the rows.
#include "tests/collector/service/watch/watch_fixture.h"

namespace fleetmark::collector {
namespace {

using test::RecordingLink;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchProgressTest : public WatchHubFixture {
 protected:
  // The rates the agent was told, in order.
  static std::vector<double> Rates(const RecordingLink& link) {
    std::vector<double> rates;
    for (const v1::CollectorMessage& message : link.sent()) {
      if (message.has_progress_rate()) rates.push_back(message.progress_rate().per_second());
    }
    return rates;
  }
  // With run 1, and doing nothing by itself.
  void StartStillHub() {
    options_.poll = options_.exchange = absl::Hours(1);
    runs_.Put(RunOf(1));
    StartHub();
  }
  bool AwaitExchange() { return runs_.AwaitCalls("WatchedTasks", 3); }
};

TEST_F(WatchProgressTest, ProgressReachesAllWatchersOfItsRunAtOnce) {
  options_.poll = options_.exchange = absl::Hours(1);
  runs_.Put(RunOf(1));
  runs_.Put(RunOf(2));
  StartHub();
  const auto first = WatchAndSee(1);
  const auto second = WatchAndSee(1);
  const auto other = WatchAndSee(2);
  hub_->Progress("mac", ProgressOf(10, 0.25));
  hub_->Progress("mac", ProgressOf(10, 0.5));
  hub_->Progress("mac", ProgressOf(4711, 0.75));  // of a run that nobody watches
  for (const auto& watcher : {first, second}) {
    ASSERT_THAT(watcher->progress(), SizeIs(2)) << "in the call itself";
    EXPECT_EQ(watcher->progress()[0].fraction(), 0.25);
    EXPECT_EQ(watcher->progress()[1].fraction(), 0.5);
  }
  EXPECT_THAT(other->progress(), IsEmpty());
}

TEST_F(WatchProgressTest, ProgressOfAnOldAttemptIsDropped) {
  StartStillHub();
  const auto watcher = WatchAndSee(1);
  hub_->Progress("mac", ProgressOf(10, 0.9, 1));
  hub_->Progress("mac", ProgressOf(10, 0.1, 2));
  hub_->Progress("mac", ProgressOf(10, 0.95, 1));
  ASSERT_THAT(watcher->progress(), SizeIs(2));
  EXPECT_EQ(watcher->progress()[1].attempt(), 2U);
}

TEST_F(WatchProgressTest, AHostSpeaksOnlyOfItsOwnTasks) {
  StartStillHub();
  const auto watcher = WatchAndSee(1);
  hub_->Progress("stranger", ProgressOf(10, 0.99, 7));
  hub_->Progress("mac", ProgressOf(10, 0.5));
  ASSERT_THAT(watcher->progress(), SizeIs(1));
  EXPECT_EQ(watcher->progress()[0].fraction(), 0.5);
}

TEST_F(WatchProgressTest, AWatcherThatIsGoneGetsNone) {
  StartStillHub();
  auto leaver = WatchAndSee(1);
  const auto stayer = WatchAndSee(1);
  leaver.reset();
  hub_->Progress("mac", ProgressOf(10, 0.5));
  EXPECT_THAT(stayer->progress(), SizeIs(1));
}

// The agent is on another collector, which writes one row a task.
TEST_F(WatchProgressTest, ProgressOfAHostThatIsNotConnectedHereComesFromTheRows) {
  runs_.Put(RunOf(1));
  runs_.PutProgress(1, ProgressOf(10, 0.3));
  StartHub();
  const auto watcher = WatchAndSee(1);
  ASSERT_TRUE(Await([&] { return !watcher->progress().empty(); }));
  EXPECT_EQ(watcher->progress()[0].fraction(), 0.3);
  runs_.PutProgress(1, ProgressOf(10, 0.6));
  EXPECT_TRUE(Await([&] { return watcher->progress().back().fraction() == 0.6; }));
}

TEST_F(WatchProgressTest, ProgressOfAHostThatIsConnectedHereIsNotReadBack) {
  const auto link = std::make_shared<RecordingLink>();
  registry_.Add("mac", link);
  runs_.Put(RunOf(1));
  runs_.PutProgress(1, ProgressOf(10, 0.3));
  StartHub();
  const auto watcher = WatchAndSee(1);
  hub_->Progress("mac", ProgressOf(10, 0.6));
  ASSERT_TRUE(AwaitExchange());
  EXPECT_EQ(runs_.calls("ReadProgress"), 0);
  ASSERT_THAT(watcher->progress(), SizeIs(1));
  EXPECT_EQ(watcher->progress()[0].fraction(), 0.6);
}

// A run on two hosts, one of them here: the rows of both are read, and the older one of our own is left out.
TEST_F(WatchProgressTest, OurOwnRowsAreOlderThanWhatWeHave) {
  const auto link = std::make_shared<RecordingLink>();
  registry_.Add("mac", link);
  v1::Run run = RunOf(1);
  v1::Task& foreign = *run.add_tasks();
  foreign = run.tasks(0);
  foreign.set_id(11);
  foreign.set_host_id("pi");
  runs_.Put(run);
  runs_.PutProgress(1, ProgressOf(10, 0.1));
  runs_.PutProgress(1, ProgressOf(11, 0.2));
  StartHub();
  hub_->Progress("mac", ProgressOf(10, 0.6));
  const auto watcher = WatchAndSee(1);
  hub_->Progress("mac", ProgressOf(10, 0.7));
  ASSERT_TRUE(runs_.AwaitCalls("ReadProgress", 3));
  bool foreign_seen = false;
  for (const v1::Progress& progress : watcher->progress()) {
    foreign_seen |= progress.task_id() == 11;
    EXPECT_TRUE(progress.task_id() == 11 || progress.fraction() == 0.7) << progress.ShortDebugString();
  }
  EXPECT_TRUE(foreign_seen);
}

TEST_F(WatchProgressTest, ProgressIsNotReadForTasksThatDoNotRun) {
  runs_.Put(RunOf(1, v1::RUN_STATE_CREATED, v1::TASK_STATE_QUEUED));
  StartHub();
  const auto watcher = WatchAndSee(1);
  ASSERT_TRUE(AwaitLooks(1));
  ASSERT_TRUE(AwaitLooks(1));
  EXPECT_EQ(runs_.calls("ReadProgress"), 0);
}

TEST_F(WatchProgressTest, ProgressIsPublishedOnceAndOnlyIfSomebodyWatchesAnywhere) {
  StartHub();
  hub_->Progress("mac", ProgressOf(10, 0.1));
  ASSERT_TRUE(AwaitExchange());
  EXPECT_THAT(runs_.published(), IsEmpty());
  runs_.SetWatched({10});
  ASSERT_TRUE(AwaitExchange());
  ASSERT_THAT(runs_.published(), SizeIs(1)) << "what has been published is not published again";
  EXPECT_EQ(runs_.published()[0].fraction(), 0.1);
  hub_->Progress("mac", ProgressOf(10, 0.2));
  ASSERT_TRUE(AwaitExchange());
  ASSERT_THAT(runs_.published(), SizeIs(2));
  EXPECT_EQ(runs_.published()[1].fraction(), 0.2);
}

TEST_F(WatchProgressTest, AnAgentIsToldHowOftenItsProgressIsWantedWhenThatChanges) {
  const auto link = std::make_shared<RecordingLink>();
  registry_.Add("mac", link);
  options_.watched_per_second = 50;
  options_.unwatched_per_second = 10;
  StartHub();
  hub_->Progress("mac", ProgressOf(10, 0.1));
  ASSERT_TRUE(AwaitExchange());
  EXPECT_THAT(Rates(*link), ::testing::ElementsAre(10));
  runs_.SetWatched({10});  // on another collector
  ASSERT_TRUE(Await([&] { return Rates(*link).size() == 2; }));
  runs_.SetWatched({});
  ASSERT_TRUE(Await([&] { return Rates(*link).size() == 3; }));
  runs_.Put(RunOf(1));
  auto watcher = WatchAndSee(1);  // here
  ASSERT_TRUE(Await([&] { return Rates(*link).size() == 4; }));
  watcher.reset();
  ASSERT_TRUE(Await([&] { return Rates(*link).size() == 5; }));
  ASSERT_TRUE(AwaitExchange());
  EXPECT_THAT(Rates(*link), ::testing::ElementsAre(10, 50, 10, 50, 10)) << "each once";
}

TEST_F(WatchProgressTest, ProgressOfAnAgentThatHasGoneDisturbsNobody) {
  runs_.SetWatched({10});
  StartHub();
  hub_->Progress("mac", ProgressOf(10, 0.1));  // not in the registry any more
  ASSERT_TRUE(AwaitExchange());
  EXPECT_THAT(runs_.published(), SizeIs(1));
}

TEST_F(WatchProgressTest, AWatchedRunIsMarkedForOtherCollectorsNowAndThen) {
  options_.mark = absl::Hours(1);
  runs_.Put(RunOf(1));
  StartHub();
  const auto watcher = WatchAndSee(1);
  ASSERT_TRUE(Await([&] { return runs_.calls("MarkWatched(1)") > 0; }));
  ASSERT_TRUE(AwaitLooks(1));
  ASSERT_TRUE(AwaitLooks(1));
  EXPECT_EQ(runs_.calls("MarkWatched(1)"), 1) << "its time has not come again";
}

TEST_F(WatchProgressTest, AMarkIsRenewedBeforeItFades) {
  options_.mark = absl::Milliseconds(1);
  runs_.Put(RunOf(1));
  StartHub();
  auto watcher = WatchAndSee(1);
  EXPECT_TRUE(runs_.AwaitCalls("MarkWatched(1)", 3));
}

// C-115: an outage costs freshness and nothing else.
TEST_F(WatchProgressTest, WhileTheDatabaseIsAwayOwnProgressStillArrives) {
  runs_.Put(RunOf(1));
  StartHub();
  const auto watcher = WatchAndSee(1);
  runs_.Fail("*", absl::UnavailableError("the database is away"));
  ASSERT_TRUE(AwaitLooks(1));
  hub_->Progress("mac", ProgressOf(10, 0.5));
  ASSERT_THAT(watcher->progress(), SizeIs(1));
  ASSERT_TRUE(AwaitExchange());
  EXPECT_THAT(runs_.published(), IsEmpty());
  runs_.Fail("*", absl::OkStatus());
  ASSERT_TRUE(Await([&] { return !runs_.published().empty(); })) << "it was not lost";
  EXPECT_EQ(runs_.published()[0].fraction(), 0.5);
}

}  // namespace
}  // namespace fleetmark::collector
