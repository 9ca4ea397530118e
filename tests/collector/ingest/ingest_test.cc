#include "collector/ingest/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScriptedResults : public ResultStore {
 public:
  absl::StatusOr<StoredRecords> StoreRecords(const HostId&, const std::vector<v1::Record>& records) override {
    stored = records;
    if (!status.ok()) return status;
    StoredRecords result;
    v1::Ack& ack = result.acks.emplace_back();
    ack.set_task_id(1);
    ack.set_sequence(records.back().id().sequence());
    result.changed_runs = {7};
    return result;
  }
  absl::StatusOr<ResultSet> Query(const ResultQuery&) override { return ResultSet(); }

  absl::Status status;
  std::vector<v1::Record> stored;
};

v1::Record Record(uint64_t sequence) {
  v1::Record record;
  record.mutable_id()->set_task_id(1);
  record.mutable_id()->set_attempt(1);
  record.mutable_id()->set_sequence(sequence);
  return record;
}

TEST(IngestTest, AcknowledgesWhatTheStoreHasCommitted) {
  ScriptedResults store;
  Ingest ingest(store);
  const absl::StatusOr<IngestResult> result = ingest.Store("host", {Record(1), Record(2)});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->acks.size(), 1u);
  EXPECT_EQ(result->acks[0].sequence(), 2u);
  EXPECT_FALSE(result->hold.has_value());
  EXPECT_EQ(result->changed_runs, std::vector<RunId>{7});
}

// C-117, C-122: whatever the database says, nothing is acknowledged and the agent is told to hold.
TEST(IngestTest, HoldsWhenTheDatabaseDoesNotTakeIt) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kInternal}) {
    ScriptedResults store;
    store.status = absl::Status(code, "disk full");
    Ingest ingest(store);
    const absl::StatusOr<IngestResult> result = ingest.Store("host", {Record(1)});
    ASSERT_TRUE(result.ok());
    EXPECT_THAT(result->acks, IsEmpty());
    ASSERT_TRUE(result->hold.has_value());
    EXPECT_THAT(result->hold->reason(), HasSubstr("disk full"));
    EXPECT_GT(result->hold->seconds(), 0);
    EXPECT_TRUE(ingest.database_down());
    store.status = absl::OkStatus();
    ASSERT_TRUE(ingest.Store("host", {Record(1)}).ok());
    EXPECT_FALSE(ingest.database_down());
  }
}

// C-111
TEST(IngestTest, NothingThatIsNotFiniteReachesTheStore) {
  ScriptedResults store;
  Ingest ingest(store);
  v1::Record record = Record(1);
  record.mutable_repetition()->add_measurements()->set_value(std::numeric_limits<double>::infinity());
  ASSERT_TRUE(ingest.Store("host", {record}).ok());
  EXPECT_FALSE(store.stored[0].repetition().measurements(0).has_value());
  EXPECT_EQ(ingest.mended(), 1u);
}

// C-134
TEST(IngestTest, ARecordOverTheLimitsIsResourceExhausted) {
  ScriptedResults store;
  Ingest ingest(store);
  v1::Record record = Record(3);
  record.mutable_repetition()->add_measurements()->set_latency_histogram(std::string(3 << 20, 'x'));
  const absl::Status status = ingest.Store("host", {record}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("record 3"));
  EXPECT_THAT(store.stored, IsEmpty());
}

// C-181
TEST(IngestTest, AHostOverItsQuotaIsSaidToBeUntilItsTimeHasPassed) {
  ScriptedResults store;
  int64_t now_ns = 0;
  Ingest ingest(store, {.bytes_per_second = 10, .monotonic_ns = [&now_ns] { return now_ns; }});
  v1::Record record = Record(1);
  record.mutable_finished()->set_reason(std::string(2000, 'x'));
  ASSERT_TRUE(ingest.Store("greedy", {record}).ok());
  const absl::Duration over = ingest.OverQuota("greedy");
  EXPECT_GT(over, absl::Seconds(140));
  EXPECT_LT(over, absl::Seconds(145));
  EXPECT_EQ(ingest.OverQuota("modest"), absl::ZeroDuration());
  now_ns += absl::ToInt64Nanoseconds(over / 2);
  EXPECT_LT(absl::AbsDuration(ingest.OverQuota("greedy") - over / 2), absl::Milliseconds(1));
  ASSERT_TRUE(ingest.Store("modest", {Record(2)}).ok());
  EXPECT_GT(ingest.OverQuota("greedy"), absl::ZeroDuration());
  now_ns += absl::ToInt64Nanoseconds(over / 2) + 1'000'000;
  EXPECT_EQ(ingest.OverQuota("greedy"), absl::ZeroDuration());
}

}  // namespace
}  // namespace fleetmark::collector
