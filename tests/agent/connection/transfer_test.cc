#include "agent/connection/transfer.h"

#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Spool::Batch BatchOf(uint64_t first, uint64_t last, size_t bytes = 100) {
  Spool::Batch batch;
  for (uint64_t i = first; i <= last; ++i) {
    v1::Record record;
    record.mutable_id()->set_task_id(1);
    record.mutable_id()->set_attempt(1);
    record.mutable_id()->set_sequence(i);
    record.mutable_repetition()->add_flags()->set_evidence(std::string(bytes, 'x'));
    batch.records.push_back(record);
    batch.positions.push_back(i);
  }
  return batch;
}

v1::Ack AckOf(uint64_t sequence) {
  v1::Ack ack;
  ack.set_task_id(1);
  ack.set_attempt(1);
  ack.set_sequence(sequence);
  return ack;
}

TEST(TransferTest, ReadsOnBehindWhatWasSentAndStartsAgainWithANewStream) {
  Transfer transfer({});
  EXPECT_EQ(transfer.Next(0)->after_position, 0u);
  EXPECT_EQ(transfer.Take(BatchOf(1, 3), 0).records_size(), 3);
  EXPECT_EQ(transfer.Next(0)->after_position, 3u);
  transfer.Restart();
  EXPECT_EQ(transfer.Next(0)->after_position, 0u);
  EXPECT_TRUE(transfer.idle());
}

TEST(TransferTest, WindowBoundsWhatIsUnderWay) {
  Transfer::Options options;
  options.window_bytes = 1000;
  Transfer transfer(options);
  transfer.Take(BatchOf(1, 10), 0);
  EXPECT_FALSE(transfer.Next(0).has_value());
  transfer.OnAck(AckOf(5), 0);
  EXPECT_TRUE(transfer.Next(0).has_value());
  EXPECT_FALSE(transfer.idle());
  transfer.OnAck(AckOf(10), 0);
  EXPECT_TRUE(transfer.idle());
  EXPECT_EQ(transfer.in_flight_bytes(), 0u);
}

TEST(TransferTest, CollectorMayAskForSmallerBatchesThanTheOption) {
  Transfer::Options options;
  options.batch_bytes = 8000;
  Transfer transfer(options);
  for (const auto& [asked, expected] : {std::pair(5000, 5000), std::pair(9000, 8000), std::pair(1, 1024)}) {
    transfer.LimitBatch(static_cast<size_t>(asked));
    EXPECT_EQ(transfer.Next(0)->max_bytes, static_cast<size_t>(expected));
  }
  transfer.LimitBatch(0);
  EXPECT_EQ(transfer.Next(0)->max_bytes, 8000u);
}

// C-133
TEST(TransferTest, AcknowledgementIsOverdueWhenNoneComesForTheDeadline) {
  Transfer transfer({});
  EXPECT_FALSE(transfer.Deadline(0).has_value());
  transfer.Take(BatchOf(1, 2), 0);
  transfer.Take(BatchOf(3, 4), 5 * kSecond);
  EXPECT_FALSE(transfer.AckIsOverdue(29 * kSecond));
  EXPECT_EQ(*transfer.Deadline(0), 30 * kSecond);
  EXPECT_TRUE(transfer.AckIsOverdue(30 * kSecond));
  transfer.OnAck(AckOf(2), 29 * kSecond);
  EXPECT_FALSE(transfer.AckIsOverdue(58 * kSecond)) << "it makes progress";
  transfer.OnAck(AckOf(2), 58 * kSecond);
  EXPECT_TRUE(transfer.AckIsOverdue(59 * kSecond)) << "the same again is no progress";
}

TEST(TransferTest, HoldSendsNothingThenEverythingAgain) {
  Transfer transfer({});
  transfer.Take(BatchOf(1, 4), 0);
  transfer.OnHold(10, 0);
  EXPECT_FALSE(transfer.Next(9 * kSecond).has_value());
  EXPECT_EQ(*transfer.Deadline(9 * kSecond), 10 * kSecond);
  EXPECT_FALSE(transfer.AckIsOverdue(100 * kSecond));
  EXPECT_EQ(transfer.Next(10 * kSecond)->after_position, 0u);
  EXPECT_FALSE(transfer.Deadline(11 * kSecond).has_value()) << "a time that has passed must not be waited for";
  transfer.OnHold(10, 20 * kSecond);
  transfer.OnAck(AckOf(4), 21 * kSecond);
  EXPECT_TRUE(transfer.Next(21 * kSecond).has_value());
  transfer.OnHold(1e300, 0);
  EXPECT_TRUE(transfer.Next(3600 * kSecond).has_value()) << "nobody can silence an agent for ever";
}

// C-134
TEST(TransferTest, TooLargeHalvesThenSendsOneByOneThenGivesUp) {
  Transfer::Options options;
  options.batch_bytes = 4000;
  Transfer transfer(options);
  transfer.Take(BatchOf(1, 4), 0);
  transfer.OnTooLarge();
  transfer.Restart();
  EXPECT_EQ(transfer.Next(0)->max_bytes, 2000u);
  EXPECT_EQ(transfer.given_up(), 0u);
  transfer.Take(BatchOf(1, 1), 0);
  EXPECT_FALSE(transfer.Next(0).has_value()) << "waits for this one's answer";
  transfer.OnTooLarge();
  transfer.Restart();
  EXPECT_EQ(transfer.given_up(), 1u);
  const v1::RecordBatch message = transfer.Take(BatchOf(1, 2), 0);
  EXPECT_EQ(message.records(0).kind_case(), v1::Record::KIND_NOT_SET);
  EXPECT_EQ(message.records(0).id().sequence(), 1u);
  EXPECT_TRUE(message.records(1).has_repetition());
  transfer.OnAck(AckOf(2), 0);
  EXPECT_EQ(transfer.given_up(), 0u);
}

}  // namespace
}  // namespace fleetmark::agent
