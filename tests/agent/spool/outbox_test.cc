#include "agent/spool/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A spool that counts what would touch the disk.
class CountingSpool : public Spool {
 public:
  explicit CountingSpool(Spool& spool) : spool_(spool) {}
  absl::Status AddTask(const v1::StartTask& start) override { return ++touched, spool_.AddTask(start); }
  absl::Status SetState(int64_t task, uint32_t attempt, v1::UnfinishedState state) override {
    return ++touched, spool_.SetState(task, attempt, state);
  }
  absl::StatusOr<std::vector<SpooledTask>> Tasks() const override { return spool_.Tasks(); }
  absl::StatusOr<uint64_t> Append(int64_t task, uint32_t attempt, std::vector<v1::Record>& records) override {
    return ++touched, spool_.Append(task, attempt, records);
  }
  absl::StatusOr<Batch> Read(uint64_t after, size_t bytes) const override {
    return ++touched, spool_.Read(after, bytes);
  }
  uint64_t LastPosition() const override { return spool_.LastPosition(); }
  absl::Status Acknowledge(int64_t task, uint32_t attempt, uint64_t sequence) override {
    return ++touched, spool_.Acknowledge(task, attempt, sequence);
  }
  v1::AgentStatus Status() const override { return spool_.Status(); }
  void Recover() override { ++touched, spool_.Recover(); }

  mutable int touched = 0;

 private:
  Spool& spool_;
};

class OutboxTest : public SpoolFixture {
 protected:
  OutboxTest() : file_(options()), spool_(file_) {}

  void Append(Outbox& outbox, std::vector<v1::Record> records) { ASSERT_TRUE(outbox.Append(1, 1, records).ok()); }

  SqliteSpool file_;
  CountingSpool spool_;
};

TEST_F(OutboxTest, DiskIsSilentBetweenTheGapsOfATask) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  Outbox outbox(spool_);
  outbox.BeginTask();
  outbox.OpenGap();
  Append(outbox, {Started(), RepetitionOf(1)});
  outbox.CloseGap();

  spool_.touched = 0;
  const auto batch = outbox.Read(0, 1 << 20);
  ASSERT_TRUE(batch.ok());
  EXPECT_THAT(Sequences(*batch), ElementsAre(1, 2)) << "from memory";
  EXPECT_TRUE(outbox.Acknowledge(1, 1, 1).ok());
  EXPECT_FALSE(outbox.IfDiskIsFree([](Spool&) { FAIL() << "called in a timed section"; }));
  EXPECT_THAT(Sequences(*outbox.Read(0, 1 << 20)), ElementsAre(2));
  EXPECT_THAT(Sequences(*outbox.Read(batch->positions.back(), 1 << 20)), IsEmpty());
  EXPECT_EQ(spool_.touched, 0);
  EXPECT_EQ(file_.Status().spooled_records(), 2u);

  outbox.OpenGap();
  EXPECT_EQ(file_.Status().spooled_records(), 1u) << "the acknowledgement waited for the gap";
  bool called = false;
  EXPECT_TRUE(outbox.IfDiskIsFree([&](Spool&) { called = true; }));
  EXPECT_TRUE(called);
  outbox.CloseGap();
  outbox.EndTask();
  EXPECT_TRUE(outbox.IfDiskIsFree([](Spool&) {}));
}

TEST_F(OutboxTest, AcknowledgementsAreDeletedWhenTheTaskEnds) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  Outbox outbox(spool_);
  outbox.BeginTask();
  outbox.OpenGap();
  Append(outbox, {Started(), Finished()});
  outbox.CloseGap();
  ASSERT_TRUE(outbox.Acknowledge(1, 1, 2).ok());
  EXPECT_EQ(file_.Tasks()->size(), 1u);
  outbox.EndTask();
  EXPECT_THAT(*file_.Tasks(), IsEmpty());
}

TEST_F(OutboxTest, OldRecordsComeWithTheNextGapAndMemoryIsBounded) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  Outbox outbox(spool_, 5000);
  for (uint32_t i = 1; i <= 10; ++i) Append(outbox, {RepetitionOf(i, 1000)});
  outbox.BeginTask();
  EXPECT_THAT(Sequences(*outbox.Read(0, 1 << 20)), IsEmpty()) << "only on the disk";
  outbox.OpenGap();
  outbox.CloseGap();
  uint64_t position = 0;
  std::vector<uint64_t> seen;
  for (int gaps = 0; gaps < 10 && seen.size() < 10; ++gaps) {
    while (true) {
      const auto batch = outbox.Read(position, 2500);
      ASSERT_TRUE(batch.ok());
      if (batch->records.empty()) break;
      for (const uint64_t sequence : Sequences(*batch)) seen.push_back(sequence);
      position = batch->positions.back();
    }
    outbox.OpenGap();
    outbox.CloseGap();
  }
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  outbox.EndTask();
}

TEST_F(OutboxTest, ReadsFromTheStartOfMemoryWhenAllThatIsOlderIsAcknowledged) {
  ASSERT_TRUE(spool_.AddTask(Task(1)).ok());
  Outbox outbox(spool_, 3000);
  for (uint32_t i = 1; i <= 5; ++i) Append(outbox, {RepetitionOf(i, 1000)});
  ASSERT_TRUE(outbox.Acknowledge(1, 1, 4).ok());
  outbox.BeginTask();
  EXPECT_THAT(Sequences(*outbox.Read(0, 1 << 20)), ElementsAre(5)) << "as after a reconnection";
  outbox.EndTask();
}

}  // namespace
}  // namespace fleetmark::agent
