#include "agent/recorder/task_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/time/fake_clock.h"
#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FakeLink : public Link {
 public:
  void Send(v1::AgentMessage message) override { sent.push_back(std::move(message)); }
  void OfferProgress(const v1::Progress& progress) override { progresses.push_back(progress); }
  void EndProgress(int64_t, uint32_t) override {}
  void RecordsAvailable() override { ++pokes; }
  void StartOver(std::string) override { ++starts_over; }

  std::vector<v1::AgentMessage> sent;
  std::vector<v1::Progress> progresses;
  int pokes = 0;
  int starts_over = 0;
};

class FakeExecutor : public Executor {
 public:
  void Start() override {}
  absl::Status Submit(const v1::StartTask& task) override {
    if (!answer.ok()) return answer;
    submitted.push_back(task.task_id());
    return absl::OkStatus();
  }
  void Cancel(int64_t task_id, uint32_t) override { cancelled.push_back(task_id); }
  void CancelAll() override { ++all_cancelled; }
  std::string Shutdown(absl::Duration) override { return ""; }

  absl::Status answer;
  std::vector<int64_t> submitted;
  std::vector<int64_t> cancelled;
  int all_cancelled = 0;
};

class TaskDeskTest : public SpoolFixture {
 protected:
  TaskDeskTest() : spool_(options()), outbox_(spool_) { MakeDesk(); }

  void MakeDesk() {
    TaskDesk::Parts parts;
    parts.outbox = &outbox_;
    parts.config = &config_;
    parts.clock = &clock_;
    parts.take_inventory = [this] {
      ++inventories_;
      return inventory_;
    };
    parts.validate = [this](const v1::StartTask&) {
      if (on_validate_) on_validate_();
      return valid_;
    };
    parts.greeting.set_host_name("machine");
    desk_ = std::make_unique<TaskDesk>(std::move(parts));
    desk_->Connect(executor_, link_);
  }

  // The task is inside its first timed section.
  void Begin(int64_t id) {
    desk_->OnStartTask(Task(id));
    desk_->OnStart(Task(id));
    ASSERT_TRUE(desk_->OnRecords(Task(id), {Started()}).ok());
    link_.sent.clear();
  }

  v1::UnfinishedState StateOf(int64_t task) {
    const auto tasks = spool_.Tasks();
    for (const SpooledTask& spooled : *tasks) {
      if (spooled.start.task_id() == task) return spooled.state;
    }
    return v1::UNFINISHED_STATE_UNSPECIFIED;
  }

  SqliteSpool spool_;
  Outbox outbox_;
  v1::AgentConfig config_;
  FakeClock clock_;
  FakeExecutor executor_;
  FakeLink link_;
  v1::Inventory inventory_;
  int inventories_ = 0;
  absl::Status valid_;
  std::function<void()> on_validate_;  // while the desk looks at the target
  std::unique_ptr<TaskDesk> desk_;
};

TEST_F(TaskDeskTest, TaskIsSpooledSubmittedAndAccepted) {
  desk_->OnStartTask(Task(1));
  EXPECT_EQ(StateOf(1), v1::UNFINISHED_STATE_QUEUED);
  EXPECT_THAT(executor_.submitted, ElementsAre(1));
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_EQ(link_.sent[0].accepted().task_id(), 1);
}

TEST_F(TaskDeskTest, TaskThatTheConfigurationForbidsIsRefusedWithItsReason) {
  valid_ = absl::PermissionDeniedError("target \"ssd\" is not named; add: targets { name: \"ssd\" ... }");
  desk_->OnStartTask(Task(1));
  EXPECT_THAT(*spool_.Tasks(), IsEmpty());
  EXPECT_THAT(executor_.submitted, IsEmpty());
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_THAT(link_.sent[0].refused().reason(), HasSubstr("is not named"));
  EXPECT_FALSE(link_.sent[0].refused().temporary());
}

TEST_F(TaskDeskTest, RemovedFromTheFleetCancelsAllThereIs) {
  Begin(1);
  desk_->OnStartTask(Task(2));  // held until the gap
  desk_->OnRemoved();
  EXPECT_EQ(executor_.all_cancelled, 1);
  executor_.submitted.clear();
  ASSERT_TRUE(desk_->OnRecords(Task(1), {RepetitionOf(1)}).ok());
  EXPECT_THAT(executor_.submitted, IsEmpty());
}

TEST_F(TaskDeskTest, RunningTaskOfferedAgainIsAcceptedAndNotStartedTwice) {
  Begin(1);
  executor_.submitted.clear();
  desk_->OnStartTask(Task(1));
  EXPECT_THAT(link_.sent, IsEmpty()) << "inside the timed section nothing is looked up";
  ASSERT_TRUE(desk_->OnRecords(Task(1), {RepetitionOf(1)}).ok());
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_EQ(link_.sent[0].accepted().task_id(), 1);
  EXPECT_THAT(executor_.submitted, IsEmpty());
}

TEST_F(TaskDeskTest, TaskThatArrivesInATimedSectionWaitsForTheGap) {
  Begin(1);
  desk_->OnStartTask(Task(2));
  desk_->OnStartTask(Task(3));
  EXPECT_THAT(link_.sent, IsEmpty());
  EXPECT_EQ(StateOf(2), v1::UNFINISHED_STATE_UNSPECIFIED);
  ASSERT_TRUE(desk_->OnRecords(Task(1), {RepetitionOf(1)}).ok());
  ASSERT_THAT(link_.sent, SizeIs(2));
  EXPECT_EQ(link_.sent[0].accepted().task_id(), 2);
  EXPECT_EQ(link_.sent[1].accepted().task_id(), 3);
  EXPECT_THAT(executor_.submitted, ElementsAre(1, 2, 3)) << "in order";

  desk_->OnStartTask(Task(4));
  v1::TaskFinished finished;
  finished.set_outcome(v1::TASK_OUTCOME_SUCCEEDED);
  desk_->OnEnd(Task(1), finished);
  EXPECT_EQ(link_.sent.back().accepted().task_id(), 4) << "or for the end of the task";
}

TEST_F(TaskDeskTest, TaskThatArrivesWhileAnotherWaitsForAQuietMachineIsTakenAtOnce) {
  desk_->OnStartTask(Task(1));
  desk_->OnStart(Task(1));
  desk_->OnStartTask(Task(2));
  EXPECT_EQ(StateOf(2), v1::UNFINISHED_STATE_QUEUED);
}

TEST_F(TaskDeskTest, HeldTaskCanBeCancelledAndWhatIsHeldIsBounded) {
  Begin(1);
  for (int64_t id = 2; id <= 65; ++id) desk_->OnStartTask(Task(id));
  EXPECT_THAT(link_.sent, IsEmpty());
  desk_->OnStartTask(Task(66));
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_TRUE(link_.sent[0].refused().temporary());
  v1::CancelTask cancel;
  cancel.set_task_id(2);
  cancel.set_attempt(1);
  desk_->OnCancelTask(cancel);
  ASSERT_THAT(link_.sent, SizeIs(2));
  EXPECT_THAT(link_.sent[1].refused().reason(), HasSubstr("cancelled"));
  EXPECT_THAT(executor_.cancelled, IsEmpty());
  cancel.set_task_id(1);
  desk_->OnCancelTask(cancel);
  EXPECT_THAT(executor_.cancelled, ElementsAre(1));
}

TEST_F(TaskDeskTest, TaskCancelledWhileItIsAdmittedDoesNotRunAndTheNextOneDoes) {
  Begin(1);
  desk_->OnStartTask(Task(2));
  desk_->OnStartTask(Task(3));
  v1::CancelTask cancel;
  cancel.set_task_id(2);
  cancel.set_attempt(1);
  int looks = 0;
  on_validate_ = [&] {
    if (++looks == 1) desk_->OnCancelTask(cancel);  // the link's thread, while the executor's is in the gap
  };
  ASSERT_TRUE(desk_->OnRecords(Task(1), {RepetitionOf(1)}).ok());
  EXPECT_THAT(executor_.submitted, ElementsAre(1, 2, 3));
  EXPECT_THAT(executor_.cancelled, ElementsAre(2)) << "it is the executor's by then";
}

TEST_F(TaskDeskTest, TaskThatTheFleetLosesWhileItIsAdmittedDoesNotRun) {
  on_validate_ = [&] { desk_->OnRemoved(); };
  desk_->OnStartTask(Task(1));
  EXPECT_THAT(executor_.cancelled, ElementsAre(1));
}

// The offer went to a session that had just ended: the collector waits for somebody to say that it is over.
TEST_F(TaskDeskTest, CancelOfATaskThatIsNotHereIsAnswered) {
  v1::CancelTask cancel;
  cancel.set_task_id(7);
  cancel.set_attempt(2);
  desk_->OnCancelTask(cancel);
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_EQ(link_.sent[0].refused().task_id(), 7);
  EXPECT_EQ(link_.sent[0].refused().attempt(), 2u);
  EXPECT_FALSE(link_.sent[0].refused().temporary());
  Begin(1);
  desk_->OnCancelTask(cancel);
  EXPECT_THAT(link_.sent, IsEmpty()) << "not out of a timed section";
  ASSERT_TRUE(desk_->OnRecords(Task(1), {Finished()}).ok());
  cancel.set_task_id(1);
  cancel.set_attempt(1);
  desk_->OnCancelTask(cancel);
  EXPECT_THAT(link_.sent, IsEmpty()) << "its end is on the way";
}

TEST_F(TaskDeskTest, StatesFollowTheTask) {
  desk_->OnStartTask(Task(1));
  desk_->OnStart(Task(1));
  EXPECT_EQ(StateOf(1), v1::UNFINISHED_STATE_RUNNING);
  ASSERT_TRUE(desk_->OnRecords(Task(1), {Started()}).ok());
  ASSERT_TRUE(desk_->OnRecords(Task(1), {Finished()}).ok());
  EXPECT_EQ(StateOf(1), v1::UNFINISHED_STATE_FINISHED);
  v1::TaskFinished finished;
  desk_->OnEnd(Task(1), finished);
  const v1::Hello hello = desk_->MakeHello();
  ASSERT_EQ(hello.unfinished_size(), 1);
  EXPECT_EQ(hello.unfinished(0).state(), v1::UNFINISHED_STATE_FINISHED);
  EXPECT_EQ(hello.unfinished(0).highest_sequence(), 2u);
  EXPECT_GE(link_.pokes, 2);
}

TEST_F(TaskDeskTest, AfterARestartQueuedTasksGoToTheExecutorAndInterruptedOnesAreReported) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  ASSERT_TRUE(spool_.AddTask(Task(2)).ok());
  ASSERT_TRUE(spool_.SetState(2, 1, v1::UNFINISHED_STATE_INTERRUPTED).ok());
  desk_->Replay();
  EXPECT_THAT(executor_.submitted, ElementsAre(1));
  const v1::Hello hello = desk_->MakeHello();
  ASSERT_EQ(hello.unfinished_size(), 2);
  EXPECT_EQ(hello.unfinished(1).state(), v1::UNFINISHED_STATE_INTERRUPTED);

  // Offered again in spite of the hello, the end is said as a record.
  desk_->OnStartTask(Task(2));
  EXPECT_EQ(link_.sent.back().accepted().task_id(), 2);
  const auto batch = outbox_.Read(0, 1 << 20);
  ASSERT_THAT(batch->records, SizeIs(1));
  EXPECT_EQ(batch->records[0].finished().outcome(), v1::TASK_OUTCOME_INTERRUPTED);
  EXPECT_THAT(executor_.submitted, ElementsAre(1));
}

TEST_F(TaskDeskTest, InterruptedTaskGoesOnceItIsReportedAndItsRecordsHaveArrived) {
  for (const int64_t id : {1, 2}) {
    ASSERT_TRUE(spool_.AddTask(Task(id)).ok());
    AppendOk(spool_, id, {Started()});
    ASSERT_TRUE(spool_.SetState(id, 1, v1::UNFINISHED_STATE_RUNNING).ok());
  }
  ASSERT_TRUE(spool_.Acknowledge(1, 1, 1).ok());
  for (const int64_t id : {1, 2}) ASSERT_TRUE(spool_.SetState(id, 1, v1::UNFINISHED_STATE_INTERRUPTED).ok());
  desk_->OnWelcome({});
  EXPECT_THAT(*spool_.Tasks(), SizeIs(2)) << "not reported yet";
  desk_->MakeHello();
  desk_->OnWelcome({});
  ASSERT_THAT(*spool_.Tasks(), SizeIs(1));
  v1::Ack ack;
  ack.set_task_id(2);
  ack.set_attempt(1);
  ack.set_sequence(1);
  ASSERT_TRUE(desk_->Acknowledge(ack).ok());
  EXPECT_THAT(*spool_.Tasks(), IsEmpty());
}

TEST_F(TaskDeskTest, QueuedTaskThatIsNoLongerAllowedIsEnded) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  executor_.answer = absl::PermissionDeniedError("workload host.clock is not allowed");
  desk_->Replay();
  const auto batch = outbox_.Read(0, 1 << 20);
  ASSERT_THAT(batch->records, SizeIs(1));
  EXPECT_THAT(batch->records[0].finished().reason(), HasSubstr("not allowed"));
}

TEST_F(TaskDeskTest, TaskTheExecutorWillNotTakeLeavesTheSpoolAgain) {
  executor_.answer = absl::ResourceExhaustedError("1000 tasks waiting already");
  desk_->OnStartTask(Task(1));
  EXPECT_THAT(*spool_.Tasks(), IsEmpty());
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_TRUE(link_.sent[0].refused().temporary());
}

TEST_F(TaskDeskTest, StoppingAgentRefusesForNow) {
  desk_->StopIntake();
  desk_->OnStartTask(Task(1));
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_TRUE(link_.sent[0].refused().temporary());
  EXPECT_THAT(*spool_.Tasks(), IsEmpty());
}

TEST_F(TaskDeskTest, ChangedInventoryIsToldAndAnUnchangedOneIsNot) {
  desk_->TakeInventory();
  desk_->TakeInventory();
  EXPECT_THAT(link_.sent, IsEmpty());
  inventory_.mutable_os()->set_kernel("6.18.0-new");
  desk_->TakeInventory();
  ASSERT_THAT(link_.sent, SizeIs(1));
  EXPECT_EQ(link_.sent[0].inventory().os().kernel(), "6.18.0-new");
}

TEST_F(TaskDeskTest, HelloTakesTheInventoryOnlyOutsideATimedSection) {
  desk_->OnStartTask(Task(1));
  desk_->OnStart(Task(1));
  desk_->MakeHello();
  EXPECT_EQ(inventories_, 0);
  desk_->OnEnd(Task(1), {});
  desk_->MakeHello();
  desk_->MakeHello();
  EXPECT_EQ(inventories_, 1) << "and not for every try";
  clock_.Advance(absl::Minutes(2));
  desk_->MakeHello();
  EXPECT_EQ(inventories_, 2);
}

TEST_F(TaskDeskTest, RecordThatIsTooLargeIsCutBeforeItIsSpooled) {
  desk_->OnStartTask(Task(1));
  desk_->OnStart(Task(1));
  v1::Record record;
  for (int i = 0; i < 200'000; ++i) {
    record.mutable_samples()->add_offset_deltas_us(1);
    record.mutable_samples()->add_values(i);
  }
  ASSERT_TRUE(desk_->OnRecords(Task(1), {record}).ok());
  desk_->OnEnd(Task(1), {});
  EXPECT_GT(spool_.Status().spooled_records(), 2u);
}

// C-095: what the spool holds is agreed on with the collector before anything of it runs.
TEST(TaskDeskSpoolTest, SpoolThatComesBackIsAgreedOnBeforeItsTasksRun) {
  class Fixture : public SpoolFixture {
    void TestBody() override {}

   public:
    using SpoolFixture::directory_;
    using SpoolFixture::Task;
  } fixture;
  SqliteSpool::Options options;
  const std::string away = fixture.directory_ + "/away";
  const std::string here = fixture.directory_ + "/here";
  std::filesystem::create_directory(away);
  options.path = away + "/spool.db";
  ASSERT_TRUE(SqliteSpool(options).AddTask(Fixture::Task(1)).ok());
  options.path = here + "/spool.db";
  SqliteSpool spool(options);
  Outbox outbox(spool);
  FakeExecutor executor;
  FakeLink link;
  v1::AgentConfig config;
  TaskDesk::Parts parts;
  parts.outbox = &outbox;
  parts.config = &config;
  parts.take_inventory = [] { return v1::Inventory(); };
  TaskDesk desk(std::move(parts));
  desk.Connect(executor, link);
  EXPECT_NE(desk.OnHeartbeat().refuses_tasks_because(), "");
  EXPECT_EQ(link.starts_over, 0);
  EXPECT_TRUE(desk.MakeHello().tasks_unknown());
  std::filesystem::rename(away, here);
  EXPECT_EQ(desk.OnHeartbeat().refuses_tasks_because(), "");
  EXPECT_EQ(link.starts_over, 1);
  EXPECT_THAT(executor.submitted, IsEmpty());
  EXPECT_EQ(desk.MakeHello().unfinished_size(), 1);
  EXPECT_FALSE(desk.MakeHello().tasks_unknown());
  desk.OnWelcome({});
  EXPECT_THAT(executor.submitted, ElementsAre(1));
}

// C-102: a full spool is a reason for now, not for ever.
TEST(TaskDeskSpoolTest, FullSpoolRefusesTemporarily) {
  class Fixture : public SpoolFixture {
    void TestBody() override {}

   public:
    using SpoolFixture::options;
    using SpoolFixture::Task;
  } fixture;
  SqliteSpool::Options small = fixture.options();
  small.capacity_bytes = 1000;
  SqliteSpool spool(small);
  Outbox outbox(spool);
  FakeExecutor executor;
  FakeLink link;
  v1::AgentConfig config;
  TaskDesk::Parts parts;
  parts.outbox = &outbox;
  parts.config = &config;
  parts.take_inventory = [] { return v1::Inventory(); };
  parts.validate = [](const v1::StartTask&) { return absl::OkStatus(); };
  TaskDesk desk(std::move(parts));
  desk.Connect(executor, link);
  desk.OnStartTask(Fixture::Task(1));
  ASSERT_THAT(link.sent, SizeIs(1));
  EXPECT_TRUE(link.sent[0].refused().temporary());
  EXPECT_THAT(link.sent[0].refused().reason(), HasSubstr("spool_capacity"));
  EXPECT_THAT(desk.MakeHello().status().refuses_tasks_because(), HasSubstr("is full"));
}

}  // namespace
}  // namespace fleetmark::agent
