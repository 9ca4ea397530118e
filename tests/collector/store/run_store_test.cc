#include <atomic>
#include <set>
#include <thread>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(StoreTest, ARunIsReadBackAsItWasCreated) {
  const HostId mac = AddConnectedHost("mac");
  const HostId pi = AddHost("pi");
  NewRun run;
  run.name = "before the move";
  run.suite = "quick";
  run.suite_version = 3;
  run.created_by = "alice";
  run.serial = true;
  run.tasks = {TaskOn(mac, "mac", "disk.dd", 1), TaskOn(mac, "mac", "disk.profile", 0), TaskOn(pi, "pi")};
  run.tasks[2].skipped_because = "no target 'ssd'";
  run.tasks[0].labels["room"] = "attic";
  const auto id = store_->runs().CreateRun(run);
  ASSERT_TRUE(id.ok()) << id.status();
  const auto read = store_->runs().GetRun(*id);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name(), "before the move");
  EXPECT_EQ(read->suite_version(), 3U);
  EXPECT_EQ(read->state(), v1::RUN_STATE_CREATED);
  EXPECT_TRUE(read->serial());
  EXPECT_EQ(read->tasks_total(), 3U);
  EXPECT_EQ(read->tasks_final(), 1U);
  EXPECT_THAT(read->hosts(), ElementsAre("mac", "pi"));
  EXPECT_FALSE(read->has_started_unix_seconds());
  ASSERT_EQ(read->tasks_size(), 3);
  EXPECT_EQ(read->tasks(0).workload(), "disk.profile");
  EXPECT_EQ(read->tasks(0).parameters().at("size").number(), 1 << 30);
  EXPECT_TRUE(read->tasks(0).host_connected());
  EXPECT_EQ(read->tasks(1).workload(), "disk.dd");
  EXPECT_EQ(read->tasks(2).state(), v1::TASK_STATE_SKIPPED);
  EXPECT_EQ(read->tasks(2).reason(), "no target 'ssd'");
  EXPECT_EQ(*store_->runs().NewestRun(), *id);
  EXPECT_EQ(store_->runs().GetRun(*id + 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Value("SELECT labels->>'room' FROM fleetmark.task WHERE workload = 'disk.dd'"), "attic");
}

TEST_F(StoreTest, ARunOfNothingButSkippedTasksIsOverAtOnce) {
  const HostId mac = AddHost("mac");
  NewTask task = TaskOn(mac, "mac");
  task.skipped_because = "not allowed";
  const RunId run = AddRun({task});
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_FAILED);
  EXPECT_TRUE(store_->runs().GetRun(run)->has_finished_unix_seconds());
  EXPECT_EQ(store_->runs().CreateRun(NewRun()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreTest, RunsAreListedNewestFirst) {
  EXPECT_EQ(store_->runs().NewestRun().status().code(), absl::StatusCode::kNotFound);
  const HostId mac = AddHost("mac");
  std::vector<RunId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(AddRun({TaskOn(mac, "mac")}));
  const auto page = store_->runs().ListRuns(2, std::nullopt);
  ASSERT_EQ(page->size(), 2U);
  EXPECT_EQ((*page)[0].id(), ids[4]);
  EXPECT_EQ((*page)[0].tasks_size(), 0);
  EXPECT_THAT((*page)[0].hosts(), ElementsAre("mac"));
  EXPECT_EQ((*store_->runs().ListRuns(10, ids[3]))[0].id(), ids[2]);
}

TEST_F(StoreTest, TasksAreAssignedInOrderOneAtATime) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac", "second", 1), TaskOn(mac, "mac", "first", 0)});
  EXPECT_FALSE(store_->runs().AssignNextTask(mac, "c2")->has_value());  // has no claim
  const auto first = store_->runs().AssignNextTask(mac, "c1");
  ASSERT_TRUE(first.ok() && first->has_value()) << first.status();
  EXPECT_EQ((*first)->workload(), "first");
  EXPECT_EQ((*first)->attempt(), 1U);
  EXPECT_EQ((*first)->run_id(), run);
  EXPECT_EQ((*first)->target(), "ssd");
  EXPECT_EQ((*first)->parameters().at("size").number(), 1 << 30);
  EXPECT_FALSE(store_->runs().AssignNextTask(mac, "c1")->has_value());  // one is active
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(store_->hosts().FindHost("mac")->activity(), absl::StrCat("run ", run, ": first"));
  const AttemptKey key{(*first)->task_id(), 1};
  ASSERT_TRUE(store_->runs().TaskAccepted(mac, key).ok());
  StoreAll(mac, WholeTask(key, {1, 2}));
  EXPECT_EQ(TaskStateOf(run, key.task), v1::TASK_STATE_SUCCEEDED);
  const auto second = store_->runs().AssignNextTask(mac, "c1");
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->workload(), "second");
}

// Several collectors and threads ask at once: each task is given out once.
TEST_F(StoreTest, ATaskIsAssignedOnceWhoeverAsks) {
  std::vector<HostId> hosts;
  std::vector<NewTask> tasks;
  for (int i = 0; i < 6; ++i) {
    hosts.push_back(AddConnectedHost(absl::StrCat("h", i)));
    tasks.push_back(TaskOn(hosts.back(), absl::StrCat("h", i)));
  }
  AddRun(tasks);
  std::atomic<int> assigned{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (const HostId& host : hosts) {
        const auto start = store_->runs().AssignNextTask(host, "c1");
        EXPECT_TRUE(start.ok()) << start.status();
        assigned += start.ok() && start->has_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(assigned, 6);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.attempt"), "6");
}

TEST_F(StoreTest, ASerialRunMeasuresOnOneHostAtATime) {
  const HostId mac = AddConnectedHost("mac");
  const HostId pi = AddConnectedHost("pi");
  AddRun({TaskOn(mac, "mac"), TaskOn(pi, "pi")}, /*serial=*/true);
  std::atomic<int> assigned{0};
  std::thread other([&] { assigned += store_->runs().AssignNextTask(pi, "c1")->has_value(); });
  assigned += store_->runs().AssignNextTask(mac, "c1")->has_value();
  other.join();
  EXPECT_LE(assigned, 1);
  if (assigned == 0) {
    // Each saw the other's lock; the next tick finds it free.
    EXPECT_TRUE(store_->runs().AssignNextTask(mac, "c1")->has_value());
  }
  const int64_t task = std::stoll(Value("SELECT id FROM fleetmark.task WHERE state = 'assigned'"));
  const HostId first = Value("SELECT host_id FROM fleetmark.task WHERE state = 'assigned'");
  const HostId& second = first == mac ? pi : mac;
  EXPECT_FALSE(store_->runs().AssignNextTask(second, "c1")->has_value());
  StoreAll(first, WholeTask({task, 1}, {1}));
  EXPECT_TRUE(store_->runs().AssignNextTask(second, "c1")->has_value());
}

TEST_F(StoreTest, CancellingEndsWhatWaitsAndMarksWhatRuns) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac", "a", 0), TaskOn(mac, "mac", "b", 1)});
  const auto start = store_->runs().AssignNextTask(mac, "c1");
  const AttemptKey key{(*start)->task_id(), 1};
  EXPECT_TRUE(store_->runs().CancelRequests(mac)->empty());
  ASSERT_TRUE(store_->runs().CancelRun(run, "bob").ok());
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_RUNNING);
  EXPECT_THAT(*store_->runs().CancelRequests(mac), ElementsAre(key));
  EXPECT_THAT(store_->runs().GetRun(run)->tasks(1).reason(), HasSubstr("bob"));
  StoreAll(mac, {Started(key), Finished(key, 2, v1::TASK_OUTCOME_CANCELLED, "as asked")});
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_CANCELLED);
  EXPECT_TRUE(store_->runs().CancelRequests(mac)->empty());
  EXPECT_TRUE(store_->runs().CancelRun(run, "bob").ok());  // again, after an answer that got lost
  EXPECT_FALSE(store_->runs().AssignNextTask(mac, "c1")->has_value());
  const RunId other = AssignOne("pi").run;
  StoreAll(Value("SELECT id FROM fleetmark.host WHERE name = 'pi'"),
           WholeTask({std::stoll(Value("SELECT max(id) FROM fleetmark.task")), 1}, {1}));
  EXPECT_EQ(store_->runs().CancelRun(other, "bob").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->runs().CancelRun(4711, "bob").code(), absl::StatusCode::kNotFound);
}

// What a collector looks at in each round: the hosts it drives that have a task to start or to cancel, each once.
TEST_F(StoreTest, HostsWithWorkAreThoseThisCollectorDrivesAndHasSomethingFor) {
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
  const HostId waits = AddConnectedHost("waits");
  const HostId elsewhere = AddHost("elsewhere");
  ASSERT_TRUE(store_->hosts().TakeClaim(elsewhere, {"c2", "s", "b"}).ok());
  const HostId away = AddHost("away");
  AddConnectedHost("idle");
  AddRun({TaskOn(waits, "waits", "a", 0), TaskOn(waits, "waits", "b", 1), TaskOn(elsewhere, "elsewhere"),
          TaskOn(away, "away")});
  AddRun({TaskOn(waits, "waits")});
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(waits)) << "once, however many tasks wait";
  EXPECT_THAT(*store_->runs().HostsWithWork("c2"), ElementsAre(elsewhere));
  EXPECT_TRUE(store_->runs().HostsWithWork("c3")->empty());
  ASSERT_TRUE(store_->hosts().TakeClaim(waits, {"c2", "session-waits", "boot-waits"}).ok());  // it has moved
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
  EXPECT_THAT(*store_->runs().HostsWithWork("c2"), ::testing::UnorderedElementsAre(waits, elsewhere));
  ASSERT_TRUE(store_->hosts().ReleaseClaim(elsewhere, {"c2", "s", "b"}).ok());
  EXPECT_THAT(*store_->runs().HostsWithWork("c2"), ElementsAre(waits));
}

TEST_F(StoreTest, AHostAtWorkIsNotAskedForItsNextTask) {
  const HostId mac = AddConnectedHost("mac");
  AddRun({TaskOn(mac, "mac", "a", 0), TaskOn(mac, "mac", "b", 1)});
  const auto start = store_->runs().AssignNextTask(mac, "c1");
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
  StoreAll(mac, WholeTask({(*start)->task_id(), 1}, {1}));
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(mac));
}

TEST_F(StoreTest, ATaskIsWorkWhileItWaitsAndAgainWhenItIsToBeCancelled) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac")});
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(mac));
  const auto start = store_->runs().AssignNextTask(mac, "c1");
  const AttemptKey key{(*start)->task_id(), 1};
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty()) << "the agent has it";
  ASSERT_TRUE(store_->runs().CancelRun(run, "bob").ok());
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(mac)) << "assigned, to be cancelled";
  StoreAll(mac, {Started(key)});
  EXPECT_EQ(TaskStateOf(run, key.task), v1::TASK_STATE_RUNNING);
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(mac)) << "running, to be cancelled";
  StoreAll(mac, {Finished(key, 2, v1::TASK_OUTCOME_CANCELLED, "as asked")});
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());

  const RunId never = AddRun({TaskOn(mac, "mac")});  // cancelled before it was given out
  ASSERT_TRUE(store_->runs().CancelRun(never, "bob").ok());
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());

  NewTask skipped = TaskOn(mac, "mac");
  skipped.skipped_because = "no target 'ssd'";
  AddRun({skipped});
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
}

TEST_F(StoreTest, ATaskThatCameBackIsWorkAgain) {
  const Assigned one = AssignOne();
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
  ASSERT_TRUE(store_->runs().TaskRefused(one.host, one.key, "the spool is full", /*temporary=*/true).ok());
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(one.host));
}

TEST_F(StoreTest, ARefusedTaskIsSkippedOrWaits) {
  const Assigned one = AssignOne();
  ASSERT_TRUE(store_->runs().TaskRefused(one.host, one.key, "the spool is full", /*temporary=*/true).ok());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_QUEUED);
  const auto again = store_->runs().AssignNextTask(one.host, "c1");
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->attempt(), 2U);
  ASSERT_TRUE(
      store_->runs().TaskRefused(one.host, one.key, "late news", /*temporary=*/false).ok());  // of the old attempt
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_ASSIGNED);
  ASSERT_TRUE(store_->runs().TaskRefused(one.host, {one.key.task, 2}, "no target 'ssd'", /*temporary=*/false).ok());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_SKIPPED);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_FAILED);
}

TEST_F(StoreTest, ARefusedTaskOfACancelledRunIsCancelled) {
  const Assigned one = AssignOne();
  ASSERT_TRUE(store_->runs().CancelRun(one.run, "bob").ok());
  ASSERT_TRUE(store_->runs().TaskRefused(one.host, one.key, "it is not here", /*temporary=*/false).ok());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_CANCELLED);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_CANCELLED);
}

// The session it was sent to had just ended.
TEST_F(StoreTest, ATaskThatNobodyAnsweredIsOfferedAgainAsTheSameAttempt) {
  const Assigned one = AssignOne();
  EXPECT_FALSE(store_->runs().AssignNextTask(one.host, "c1")->has_value());
  Exec("UPDATE fleetmark.attempt SET assigned_at = now() - interval '11 s'");
  EXPECT_THAT(*store_->runs().HostsWithWork("c1"), ElementsAre(one.host));
  const auto again = store_->runs().AssignNextTask(one.host, "c1");
  ASSERT_TRUE(again.ok() && again->has_value()) << again.status();
  EXPECT_EQ((*again)->task_id(), one.key.task);
  EXPECT_EQ((*again)->attempt(), one.key.attempt);
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty()) << "it has another 10 s";
  EXPECT_FALSE(store_->runs().AssignNextTask(one.host, "c1")->has_value());

  ASSERT_TRUE(store_->runs().TaskAccepted(one.host, one.key).ok());
  Exec("UPDATE fleetmark.attempt SET assigned_at = now() - interval '1 h'");
  EXPECT_TRUE(store_->runs().HostsWithWork("c1")->empty());
  EXPECT_FALSE(store_->runs().AssignNextTask(one.host, "c1")->has_value()) << "the agent has it";
}

TEST_F(StoreTest, ARequestThatIsMadeTwiceMakesOneRun) {
  const HostId mac = AddConnectedHost("mac");
  NewRun run;
  run.request_key = "22222222-2222-4222-8222-222222222222";
  run.suite = "quick";
  run.created_by = "alice";
  run.tasks = {TaskOn(mac, "mac")};
  absl::StatusOr<RunId> beside = absl::UnknownError("never asked");
  std::thread other([&] { beside = store_->runs().CreateRun(run); });  // by way of another collector
  const auto first = store_->runs().CreateRun(run);
  other.join();
  ASSERT_TRUE(first.ok() && beside.ok()) << first.status() << beside.status();
  EXPECT_EQ(*first, *beside);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.task"), "1");
  run.created_by = "mallory";
  EXPECT_EQ(store_->runs().CreateRun(run).status().code(), absl::StatusCode::kAlreadyExists);
  run.request_key.clear();
  EXPECT_NE(*store_->runs().CreateRun(run), *first);
}

TEST_F(StoreTest, ProgressIsSharedWhileTheTaskRuns) {
  const Assigned one = AssignOne();
  v1::Progress progress;
  progress.set_task_id(one.key.task);
  progress.set_attempt(1);
  progress.set_fraction(0.25);
  EXPECT_TRUE(store_->runs().WatchedTasks({one.key.task})->empty());
  ASSERT_TRUE(store_->runs().MarkWatched(one.run, "c2").ok());
  EXPECT_THAT(*store_->runs().WatchedTasks({one.key.task, 4711}), ElementsAre(one.key.task));
  v1::Progress later = progress;
  later.set_fraction(0.5);
  ASSERT_TRUE(store_->runs().PublishProgress({{one.host, progress}, {one.host, later}}).ok());
  ASSERT_EQ(store_->runs().ReadProgress(one.run)->size(), 1U);
  EXPECT_EQ(store_->runs().ReadProgress(one.run)->at(0).fraction(), 0.5);
  EXPECT_EQ(store_->runs().GetRun(one.run)->tasks(0).progress().fraction(), 0.5);
  v1::Progress false_one = progress;
  false_one.set_fraction(0.99);
  ASSERT_TRUE(store_->runs().PublishProgress({{AddHost("stranger"), false_one}}).ok());
  EXPECT_EQ(store_->runs().ReadProgress(one.run)->at(0).fraction(), 0.5) << "not that host's task";
  StoreAll(one.host, WholeTask(one.key, {1}));
  EXPECT_TRUE(store_->runs().ReadProgress(one.run)->empty());
  ASSERT_TRUE(store_->runs().PublishProgress({{one.host, later}}).ok());  // came late
  EXPECT_TRUE(store_->runs().ReadProgress(one.run)->empty());
}

}  // namespace
}  // namespace fleetmark::collector
