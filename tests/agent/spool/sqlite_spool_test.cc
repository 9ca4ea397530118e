#include "agent/spool/sqlite_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqliteSpoolTest : public SpoolFixture {};

TEST_F(SqliteSpoolTest, KeepsTasksAndRecordsOverARestart) {
  {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(7)).ok());
    ASSERT_TRUE(spool.AddTask(Task(3)).ok());
    ASSERT_TRUE(spool.AddTask(Task(7)).ok()) << "twice is no error";
    AppendOk(spool, 7, {Started(), RepetitionOf(1)});
  }
  SqliteSpool spool(options());
  const auto tasks = spool.Tasks();
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 2u);
  EXPECT_EQ((*tasks)[0].start.task_id(), 7) << "in the order of arrival";
  EXPECT_EQ((*tasks)[0].start.workload(), "host.clock");
  EXPECT_EQ((*tasks)[0].state, v1::UNFINISHED_STATE_QUEUED);
  EXPECT_EQ((*tasks)[0].highest_sequence, 2u);
  EXPECT_EQ((*tasks)[1].start.task_id(), 3);
  const auto batch = spool.Read(0, 1 << 20);
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(Sequences(*batch), ElementsAre(1, 2));
  EXPECT_TRUE(batch->records[0].has_started());
  EXPECT_EQ(batch->records[1].repetition().number(), 1u);
}

TEST_F(SqliteSpoolTest, SequencesGoOnAfterARestartAlsoWhenAllIsAcknowledged) {
  {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(1)).ok());
    AppendOk(spool, 1, {Started(), RepetitionOf(1), RepetitionOf(2)});
    ASSERT_TRUE(spool.Acknowledge(1, 1, 3).ok());
  }
  SqliteSpool spool(options());
  std::vector<v1::Record> records = {RepetitionOf(3)};
  ASSERT_TRUE(spool.Append(1, 1, records).ok());
  EXPECT_EQ(records[0].id().sequence(), 4u);
  EXPECT_EQ(records[0].id().task_id(), 1);
  EXPECT_EQ(records[0].id().attempt(), 1u);
}

TEST_F(SqliteSpoolTest, KeepsRecordsUntilCollectorAcknowledges) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  AppendOk(spool, 1, {Started(), RepetitionOf(1), RepetitionOf(2)});
  ASSERT_TRUE(spool.Acknowledge(1, 1, 2).ok());
  EXPECT_THAT(Sequences(*spool.Read(0, 1 << 20)), ElementsAre(3));
  ASSERT_TRUE(spool.Acknowledge(1, 1, 1).ok()) << "an older one changes nothing";
  EXPECT_THAT(Sequences(*spool.Read(0, 1 << 20)), ElementsAre(3));
  EXPECT_EQ(spool.Status().spooled_records(), 1u);
}

TEST_F(SqliteSpoolTest, FinishedTaskGoesWithItsLastRecord) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  ASSERT_TRUE(spool.SetState(1, 1, v1::UNFINISHED_STATE_RUNNING).ok());
  AppendOk(spool, 1, {Started(), Finished()});
  EXPECT_EQ((*spool.Tasks())[0].state, v1::UNFINISHED_STATE_FINISHED) << "in the transaction of the record";
  ASSERT_TRUE(spool.Acknowledge(1, 1, 1).ok());
  EXPECT_EQ(spool.Tasks()->size(), 1u);
  ASSERT_TRUE(spool.Acknowledge(1, 1, 2).ok());
  EXPECT_THAT(*spool.Tasks(), IsEmpty());
  EXPECT_EQ(spool.Status().spool_bytes(), 0);
  ASSERT_TRUE(spool.Acknowledge(1, 1, 2).ok()) << "a repeated one for a task that is gone";
}

TEST_F(SqliteSpoolTest, RunningTaskStaysWhenAllItsRecordsAreAcknowledged) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  ASSERT_TRUE(spool.SetState(1, 1, v1::UNFINISHED_STATE_RUNNING).ok());
  AppendOk(spool, 1, {Started()});
  ASSERT_TRUE(spool.Acknowledge(1, 1, 1).ok());
  EXPECT_EQ(spool.Tasks()->size(), 1u);
}

TEST_F(SqliteSpoolTest, AcknowledgementBeyondTheLastRecordDeletesNothing) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  AppendOk(spool, 1, {Started()});
  EXPECT_TRUE(absl::IsOutOfRange(spool.Acknowledge(1, 1, 2)));
  EXPECT_TRUE(spool.Acknowledge(99, 1, 5).ok());
  EXPECT_THAT(Sequences(*spool.Read(0, 1 << 20)), ElementsAre(1));
}

TEST_F(SqliteSpoolTest, RunningTaskIsInterruptedAfterARestart) {
  {
    SqliteSpool spool(options());
    ASSERT_TRUE(spool.AddTask(Task(1)).ok());
    ASSERT_TRUE(spool.AddTask(Task(2)).ok());
    ASSERT_TRUE(spool.SetState(1, 1, v1::UNFINISHED_STATE_RUNNING).ok());
    AppendOk(spool, 1, {Started(), RepetitionOf(1)});
  }
  SqliteSpool spool(options());
  const auto tasks = spool.Tasks();
  EXPECT_EQ((*tasks)[0].state, v1::UNFINISHED_STATE_INTERRUPTED);
  EXPECT_EQ((*tasks)[0].highest_sequence, 2u);
  EXPECT_EQ((*tasks)[1].state, v1::UNFINISHED_STATE_QUEUED);
  EXPECT_THAT(spool.TakeMessages(), ElementsAre(HasSubstr("recovered up to sequence 2")));
  EXPECT_THAT(Sequences(*spool.Read(0, 1 << 20)), ElementsAre(1, 2)) << "what was spooled is kept";
  ASSERT_TRUE(spool.Acknowledge(1, 1, 2).ok());
  EXPECT_EQ(spool.Tasks()->size(), 1u) << "acknowledged to its end, an interrupted task goes";
}

TEST_F(SqliteSpoolTest, ReadsInBatchesOfAtLeastOne) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  AppendOk(spool, 1, {RepetitionOf(1, 1000), RepetitionOf(2, 1000), RepetitionOf(3, 1000)});
  const auto first = spool.Read(0, 2500);
  EXPECT_THAT(Sequences(*first), ElementsAre(1, 2));
  const auto second = spool.Read(first->positions.back(), 10);
  EXPECT_THAT(Sequences(*second), ElementsAre(3)) << "also when it is larger than asked";
  EXPECT_THAT(Sequences(*spool.Read(second->positions.back(), 10)), IsEmpty());
  EXPECT_EQ(second->positions.back(), spool.LastPosition());
}

TEST_F(SqliteSpoolTest, AppendToUnknownTaskIsRefused) {
  SqliteSpool spool(options());
  std::vector<v1::Record> records = {Started()};
  EXPECT_TRUE(absl::IsNotFound(spool.Append(5, 1, records).status()));
}

// C-102
TEST_F(SqliteSpoolTest, FullSpoolRefusesNewTasksSaysWhyAndDropsNothing) {
  SqliteSpool::Options small = options();
  small.capacity_bytes = 256 << 10;
  small.task_reserve_bytes = 64 << 10;
  SqliteSpool spool(small);
  int64_t task = 0;
  absl::Status status;
  while (task < 100 && (status = spool.AddTask(Task(task + 1))).ok()) ++task;
  EXPECT_EQ(task, 3);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("spool_capacity"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("of 0.2 MiB"));
  EXPECT_EQ(spool.Status().refuses_tasks_because(), std::string(status.message()));

  // The tasks that were taken have the room they were promised, and an end is always taken.
  for (int64_t id = 1; id <= 3; ++id) AppendOk(spool, id, {Started(), RepetitionOf(1, 60 << 10)});
  std::vector<v1::Record> large = {RepetitionOf(2, 200 << 10)};
  EXPECT_TRUE(absl::IsResourceExhausted(spool.Append(1, 1, large).status()));
  for (int64_t id = 1; id <= 3; ++id) AppendOk(spool, id, {Finished(v1::TASK_OUTCOME_FAILED)});
  EXPECT_EQ(spool.Read(0, 10 << 20)->records.size(), 9u);

  for (int64_t id = 1; id <= 3; ++id) ASSERT_TRUE(spool.Acknowledge(id, 1, 3).ok());
  EXPECT_EQ(spool.Status().refuses_tasks_because(), "");
  EXPECT_TRUE(spool.AddTask(Task(50)).ok());
}

TEST_F(SqliteSpoolTest, FileShrinksWhenEverythingIsAcknowledged) {
  SqliteSpool spool(options());
  for (int64_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(spool.AddTask(Task(id)).ok());
    AppendOk(spool, id, {Started(), RepetitionOf(1, 2 << 20), Finished()});
  }
  for (int64_t id = 1; id <= 4; ++id) ASSERT_TRUE(spool.Acknowledge(id, 1, 3).ok());
  ASSERT_TRUE(spool.AddTask(Task(9)).ok());
  EXPECT_LT(std::filesystem::file_size(path()), 6u << 20);
}

// C-141: the writer of records and the link's acknowledgements are two threads.
TEST_F(SqliteSpoolTest, AppendsAndAcknowledgesInParallel) {
  SqliteSpool spool(options());
  ASSERT_TRUE(spool.AddTask(Task(1)).ok());
  constexpr uint64_t kRecords = 200;
  std::thread writer([&] {
    for (uint32_t i = 1; i <= kRecords; ++i) {
      std::vector<v1::Record> records = {RepetitionOf(i)};
      EXPECT_TRUE(spool.Append(1, 1, records).ok());
    }
  });
  uint64_t seen = 0;
  uint64_t position = 0;
  while (seen < kRecords) {
    const auto batch = spool.Read(position, 4096);
    ASSERT_TRUE(batch.ok());
    for (const v1::Record& record : batch->records) ASSERT_EQ(record.id().sequence(), ++seen);
    if (batch->records.empty()) continue;
    position = batch->positions.back();
    ASSERT_TRUE(spool.Acknowledge(1, 1, seen).ok());
    ASSERT_EQ(spool.Tasks()->size(), 1u);
  }
  writer.join();
  EXPECT_EQ(spool.Status().spooled_records(), 0u);
}

}  // namespace
}  // namespace fleetmark::agent
