#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::UnfinishedTask Unfinished(const AttemptKey& key, v1::UnfinishedState state) {
  v1::UnfinishedTask task;
  task.set_task_id(key.task);
  task.set_attempt(key.attempt);
  task.set_state(state);
  return task;
}

TEST_F(StoreTest, AnAssignedTaskTheAgentNeverGotIsSentAgain) {
  const Assigned one = AssignOne();
  const auto result = store_->runs().Reconcile(one.host, {});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->start_again.size(), 1U);
  EXPECT_EQ(result->start_again[0].task_id(), one.key.task);
  EXPECT_EQ(result->start_again[0].attempt(), 1U);  // the same attempt
  EXPECT_THAT(result->cancel, IsEmpty());
}

TEST_F(StoreTest, WhatTheAgentStillHasGoesOn) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key)});
  for (const v1::UnfinishedState state :
       {v1::UNFINISHED_STATE_QUEUED, v1::UNFINISHED_STATE_RUNNING, v1::UNFINISHED_STATE_FINISHED}) {
    const auto result = store_->runs().Reconcile(one.host, {Unfinished(one.key, state)});
    EXPECT_THAT(result->start_again, IsEmpty());
    EXPECT_THAT(result->cancel, IsEmpty());
    EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_RUNNING);
  }
}

// C-106: the agent that was killed disowns its attempt; twice another one is made, then the task fails.
TEST_F(StoreTest, AnInterruptedAttemptIsMadeAgainAtMostTwice) {
  const Assigned one = AssignOne();
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const AttemptKey key{one.key.task, attempt};
    if (attempt > 1) {
      const auto start = store_->runs().AssignNextTask(one.host, "c1");
      ASSERT_TRUE(start.ok() && start->has_value()) << attempt;
      EXPECT_EQ((*start)->attempt(), attempt);
    }
    StoreAll(one.host, {Started(key)});
    ASSERT_TRUE(store_->runs().Reconcile(one.host, {Unfinished(key, v1::UNFINISHED_STATE_INTERRUPTED)}).ok());
  }
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_FAILED);
  EXPECT_THAT(store_->runs().GetRun(one.run)->tasks(0).reason(), HasSubstr("3 attempts"));
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_FAILED);
}

TEST_F(StoreTest, ARunningTaskTheAgentHasForgottenIsMadeAgain) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key)});
  ASSERT_TRUE(store_->runs().Reconcile(one.host, {}).ok());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_QUEUED);
  EXPECT_EQ(Value("SELECT state FROM fleetmark.attempt"), "disowned");
  EXPECT_EQ((*store_->runs().AssignNextTask(one.host, "c1"))->attempt(), 2U);
}

TEST_F(StoreTest, WhatIsNotWantedAnyMoreIsCancelled) {
  const Assigned one = AssignOne();
  const AttemptKey unknown{4711, 1};
  ASSERT_TRUE(store_->runs().Reconcile(one.host, {Unfinished(one.key, v1::UNFINISHED_STATE_INTERRUPTED)}).ok());
  ASSERT_TRUE((*store_->runs().AssignNextTask(one.host, "c1")).has_value());
  const AttemptKey second{one.key.task, 2};
  auto result = store_->runs().Reconcile(
      one.host, {Unfinished(one.key, v1::UNFINISHED_STATE_RUNNING), Unfinished(second, v1::UNFINISHED_STATE_RUNNING),
                 Unfinished(unknown, v1::UNFINISHED_STATE_QUEUED), Unfinished(unknown, v1::UNFINISHED_STATE_FINISHED)});
  EXPECT_THAT(result->cancel, ElementsAre(one.key, unknown));
  ASSERT_TRUE(store_->runs().CancelRun(one.run, "bob").ok());
  result = store_->runs().Reconcile(one.host, {Unfinished(second, v1::UNFINISHED_STATE_RUNNING)});
  EXPECT_THAT(result->cancel, ElementsAre(second));
  // The agent lost it meanwhile: nothing to cancel, and no new attempt of a cancelled run.
  result = store_->runs().Reconcile(one.host, {});
  EXPECT_THAT(result->start_again, IsEmpty());
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_CANCELLED);
}

TEST_F(StoreTest, AnotherHostsTasksAreOutOfReach) {
  const Assigned mac = AssignOne("mac");
  const Assigned pi = AssignOne("pi");
  const auto result = store_->runs().Reconcile(pi.host, {Unfinished(mac.key, v1::UNFINISHED_STATE_INTERRUPTED),
                                                         Unfinished(pi.key, v1::UNFINISHED_STATE_QUEUED)});
  EXPECT_THAT(result->start_again, IsEmpty());
  EXPECT_EQ(TaskStateOf(mac.run, mac.key.task), v1::TASK_STATE_ASSIGNED);
  ASSERT_TRUE(store_->runs().TaskRefused(pi.host, mac.key, "mischief", false).ok());
  EXPECT_EQ(TaskStateOf(mac.run, mac.key.task), v1::TASK_STATE_ASSIGNED);
}

// C-106: given up, then the agent comes back after an hour with the finished result.
TEST_F(StoreTest, ALateResultOfALostTaskIsAcceptedOnceAndAmendsTheRun) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key)});
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), IsEmpty());  // not yet
  Exec("UPDATE fleetmark.run SET give_up_at = now() - interval '1 s'");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), IsEmpty());  // its host is connected and measures
  Exec("UPDATE fleetmark.claim SET expires_at = now() - interval '1 min'");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), ElementsAre(one.run));
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), IsEmpty());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_LOST);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_FAILED);

  ASSERT_TRUE(store_->hosts().TakeClaim(one.host, {"c1", "session-mac", "boot-mac"}).ok());
  EXPECT_THAT(store_->runs().Reconcile(one.host, {Unfinished(one.key, v1::UNFINISHED_STATE_RUNNING)})->cancel,
              IsEmpty());
  const std::vector<v1::Record> rest = {Rep(one.key, 2, 1, 5), Finished(one.key, 3)};
  EXPECT_EQ(Acked(StoreAll(one.host, rest), one.key), 3U);
  EXPECT_EQ(Acked(StoreAll(one.host, rest), one.key), 3U);
  const auto run = store_->runs().GetRun(one.run);
  EXPECT_EQ(run->tasks(0).state(), v1::TASK_STATE_SUCCEEDED);
  EXPECT_TRUE(run->tasks(0).late());
  EXPECT_EQ(run->state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark_report.result"), "1");
}

// A run ends, whatever its hosts do.
TEST_F(StoreTest, ATaskThatIsNeverFinishedOnAConnectedHostIsGivenUpAnHourLater) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key)});
  Exec("UPDATE fleetmark.run SET give_up_at = now() - interval '59 min'");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), IsEmpty());
  Exec("UPDATE fleetmark.run SET give_up_at = now() - interval '61 min'");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), ElementsAre(one.run));
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_LOST);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_FAILED);
}

TEST_F(StoreTest, ACancelledTaskWhoseHostDoesNotAnswerEndsItsRun) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key)});
  ASSERT_TRUE(store_->runs().CancelRun(one.run, "alice").ok());
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), IsEmpty());  // it has time to answer
  Exec("UPDATE fleetmark.run SET cancel_requested_at = now() - interval '6 min'");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), ElementsAre(one.run));
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_LOST);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_CANCELLED);
}

TEST_F(StoreTest, QueuedTasksOfAnOverdueRunAreLost) {
  const HostId mac = AddConnectedHost("mac");
  NewRun run;
  run.suite = "quick";
  run.created_by = "alice";
  run.give_up = absl::ZeroDuration();  // at least a second
  run.tasks = {TaskOn(mac, "mac")};
  const RunId id = *store_->runs().CreateRun(run);
  Exec("UPDATE fleetmark.run SET give_up_at = now()");
  EXPECT_THAT(*store_->runs().GiveUpOverdue(), ElementsAre(id));
  EXPECT_EQ(RunStateOf(id), v1::RUN_STATE_FAILED);
  EXPECT_FALSE(store_->runs().AssignNextTask(mac, "c1")->has_value());
}

}  // namespace
}  // namespace fleetmark::collector
