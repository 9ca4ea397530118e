#include <atomic>
#include <limits>
#include <thread>

#include "common/histogram/histogram.h"
#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCounts[] =
    "SELECT (SELECT count(*) FROM fleetmark.record) || ' ' || (SELECT count(*) FROM fleetmark.repetition) || ' ' ||"
    " (SELECT count(*) FROM fleetmark.measurement) || ' ' || (SELECT count(*) FROM fleetmark.sample_chunk)";

TEST_F(StoreTest, AWholeTaskIsStoredAndItsRunSucceeds) {
  const Assigned one = AssignOne();
  std::vector<v1::Record> records = WholeTask(one.key, {10, 11, 12});
  (*records[4].mutable_finished()->mutable_derived_parameters())["depth"].set_number(8);
  records[4].mutable_finished()->add_flags()->set_name("busy");
  const StoredRecords stored = StoreAll(one.host, records);
  EXPECT_EQ(Acked(stored, one.key), 5U);
  EXPECT_THAT(stored.changed_runs, ElementsAre(one.run));
  EXPECT_THAT(stored.quarantined, IsEmpty());
  EXPECT_EQ(stored.duplicates, 0U);
  const auto run = store_->runs().GetRun(one.run);
  EXPECT_EQ(run->state(), v1::RUN_STATE_SUCCEEDED);
  const v1::Task& task = run->tasks(0);
  EXPECT_EQ(task.repetitions(), 3U);
  EXPECT_EQ(task.stop_reason(), "precise");
  EXPECT_EQ(task.derived_parameters().at("engine").text(), "io_uring");
  EXPECT_EQ(task.derived_parameters().at("depth").number(), 8);
  EXPECT_EQ(task.flags(0).name(), "busy");
  EXPECT_TRUE(task.has_started_unix_seconds());
  EXPECT_TRUE(task.has_finished_unix_seconds());
  EXPECT_EQ(Value("SELECT disk_identity || disk_label || stack || target_path FROM fleetmark_report.task"),
            "disk-1Samsungext4 > vda1 > vda/mnt/ssd");
}

// C-114: everything sent again, also with more, also in parallel: as if it had been sent once.
TEST_F(StoreTest, ResendingChangesNothing) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = WholeTask(one.key, {10, 11, 12});
  StoreAll(one.host, {records.begin(), records.begin() + 3});
  const StoredRecords again = StoreAll(one.host, records);
  EXPECT_EQ(again.duplicates, 3U);
  EXPECT_EQ(Acked(again, one.key), 5U);
  EXPECT_EQ(Value(kCounts), "5 3 3 0");
  EXPECT_EQ(StoreAll(one.host, {records[2], records[2]}).duplicates, 2U);
}

TEST_F(StoreTest, ParallelResendsStoreOnce) {
  const Assigned one = AssignOne();
  std::vector<v1::Record> records = WholeTask(one.key, {1, 2, 3, 4, 5});
  records.insert(records.begin() + 1, Samples(one.key, 100, {1, 2, 3}));
  std::vector<std::thread> threads;
  std::atomic<uint64_t> duplicates{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto stored = store_->results().StoreRecords(one.host, records);
      ASSERT_TRUE(stored.ok()) << stored.status();
      duplicates += stored->duplicates;
      EXPECT_EQ(Acked(*stored, one.key), 7U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(duplicates, 3 * records.size());
  EXPECT_EQ(Value(kCounts), "8 5 5 1");
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_SUCCEEDED);
}

// C-114: another content under the same key is a conflict; the first stays.
TEST_F(StoreTest, AConflictIsQuarantinedAndTheOriginalKept) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key), Rep(one.key, 2, 1, 10)});
  const StoredRecords stored = StoreAll(one.host, {Rep(one.key, 2, 1, 99), Rep(one.key, 3, 2, 11)});
  EXPECT_EQ(Acked(stored, one.key), 3U);
  ASSERT_EQ(stored.quarantined.size(), 1U);
  EXPECT_THAT(stored.quarantined[0].reason, HasSubstr("conflict"));
  EXPECT_EQ(Value("SELECT string_agg(value::text, ' ' ORDER BY repetition) FROM fleetmark.measurement"), "10 11");
  StoreAll(one.host, {Rep(one.key, 2, 1, 99)});
}

TEST_F(StoreTest, OutOfOrderArrivalsAreAcknowledgedUpToTheFirstGap) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = WholeTask(one.key, {1, 2, 3});
  EXPECT_THAT(StoreAll(one.host, {records[4], records[2]}).acks, IsEmpty());
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_ASSIGNED);  // not final before it is complete
  EXPECT_EQ(Acked(StoreAll(one.host, {records[0]}), one.key), 1U);
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_RUNNING);
  EXPECT_EQ(Acked(StoreAll(one.host, {records[3]}), one.key), 1U);
  const StoredRecords last = StoreAll(one.host, {records[1]});
  EXPECT_EQ(Acked(last, one.key), 5U);
  EXPECT_THAT(last.changed_runs, ElementsAre(one.run));
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(StoreTest, RecordsOfAnotherHostsTaskAreKeptAsideAndAcknowledged) {
  const Assigned mac = AssignOne("mac");
  const HostId pi = AddConnectedHost("pi");
  const AttemptKey unknown{4711, 1};
  const AttemptKey no_attempt{mac.key.task, 9};
  const StoredRecords stored = StoreAll(pi, {Started(mac.key), Rep(mac.key, 2, 1, 1), Started(unknown)});
  EXPECT_EQ(stored.quarantined.size(), 3U);
  EXPECT_EQ(Acked(stored, mac.key), 2U);
  EXPECT_EQ(Acked(stored, unknown), 1U);
  EXPECT_EQ(StoreAll(mac.host, {Started(no_attempt)}).quarantined.size(), 1U);
  EXPECT_EQ(Value(kCounts), "0 0 0 0");
  EXPECT_EQ(TaskStateOf(mac.run, mac.key.task), v1::TASK_STATE_ASSIGNED);
  StoreAll(pi, {Started(mac.key)});                                            // sent again: kept once
  EXPECT_EQ(Acked(StoreAll(mac.host, WholeTask(mac.key, {1})), mac.key), 3U);  // its own are not hindered
}

// C-106: records of a superseded attempt are kept and not summarised.
TEST_F(StoreTest, LateRecordsOfASupersededAttemptDecideNothing) {
  const Assigned one = AssignOne();
  StoreAll(one.host, {Started(one.key), Rep(one.key, 2, 1, 1)});
  v1::UnfinishedTask interrupted;
  interrupted.set_task_id(one.key.task);
  interrupted.set_attempt(1);
  interrupted.set_state(v1::UNFINISHED_STATE_INTERRUPTED);
  ASSERT_TRUE(store_->runs().Reconcile(one.host, {interrupted}).ok());
  const AttemptKey second{one.key.task, (*store_->runs().AssignNextTask(one.host, "c1"))->attempt()};
  EXPECT_EQ(second.attempt, 2U);
  EXPECT_EQ(Acked(StoreAll(one.host, {Rep(one.key, 3, 2, 2), Finished(one.key, 4)}), one.key), 4U);
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_ASSIGNED);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.measurement"), "2");
  StoreAll(one.host, WholeTask(second, {50}));
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(Value("SELECT string_agg(value::text, ' ') FROM fleetmark_report.result"), "50");
  const auto results = store_->results().Query({{}, {one.run}, {}});
  ASSERT_EQ(results->rows.size(), 1U);
  EXPECT_EQ(results->rows[0].measurement.value(), 50);
  EXPECT_EQ(store_->runs().GetRun(one.run)->tasks(0).repetitions(), 1U);
}

TEST_F(StoreTest, OutcomesBecomeStates) {
  struct Case {
    v1::TaskOutcome outcome;
    v1::TaskState task;
    v1::RunState run;
  };
  const Case cases[] = {
      {v1::TASK_OUTCOME_FAILED, v1::TASK_STATE_FAILED, v1::RUN_STATE_FAILED},
      {v1::TASK_OUTCOME_SKIPPED, v1::TASK_STATE_SKIPPED, v1::RUN_STATE_FAILED},
      {static_cast<v1::TaskOutcome>(7), v1::TASK_STATE_FAILED, v1::RUN_STATE_FAILED},  // C-128
      {v1::TASK_OUTCOME_INTERRUPTED, v1::TASK_STATE_QUEUED, v1::RUN_STATE_RUNNING},
  };
  int i = 0;
  for (const Case& one : cases) {
    const Assigned assigned = AssignOne(absl::StrCat("h", i++));
    StoreAll(assigned.host, {Started(assigned.key), Finished(assigned.key, 2, one.outcome, "because")});
    EXPECT_EQ(TaskStateOf(assigned.run, assigned.key.task), one.task);
    EXPECT_EQ(RunStateOf(assigned.run), one.run);
    EXPECT_THAT(store_->runs().GetRun(assigned.run)->tasks(0).reason(), HasSubstr("because"));
  }
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.attempt WHERE outcome = 7"), "1");
}

TEST_F(StoreTest, SomeTasksSucceededMakesARunPartial) {
  const HostId mac = AddConnectedHost("mac");
  const RunId run = AddRun({TaskOn(mac, "mac", "a", 0), TaskOn(mac, "mac", "b", 1)});
  for (const v1::TaskOutcome outcome : {v1::TASK_OUTCOME_SUCCEEDED, v1::TASK_OUTCOME_FAILED}) {
    const auto start = *store_->runs().AssignNextTask(mac, "c1");
    const AttemptKey key{start->task_id(), start->attempt()};
    StoreAll(mac, {Started(key), Finished(key, 2, outcome, "x")});
  }
  EXPECT_EQ(RunStateOf(run), v1::RUN_STATE_PARTIAL);
}

// C-129
TEST_F(StoreTest, AbsentIsNullAndZeroIsZero) {
  const Assigned one = AssignOne();
  v1::Record record = Rep(one.key, 2, 1, 0);
  v1::Measurement& second = *record.mutable_repetition()->add_measurements();
  second.set_metric("write");
  second.set_missing_reason("no operations");
  second.set_steal_seconds(0);
  StoreAll(one.host, {Started(one.key), record});
  EXPECT_EQ(Value("SELECT string_agg(coalesce(value::text, 'null') || '/' || coalesce(steal_seconds::text, 'null'), ' '"
                  " ORDER BY ordinal) FROM fleetmark.measurement"),
            "0/null null/0");
  const auto results = store_->results().Query({{}, {one.run}, {}});
  ASSERT_EQ(results->rows.size(), 2U);
  EXPECT_TRUE(results->rows[0].measurement.has_value());
  EXPECT_FALSE(results->rows[0].measurement.has_steal_seconds());
  EXPECT_FALSE(results->rows[1].measurement.has_value());
  EXPECT_EQ(results->rows[1].measurement.missing_reason(), "no operations");
}

// C-128
TEST_F(StoreTest, WhatThisVersionDoesNotKnowIsKeptAsItCame) {
  const Assigned one = AssignOne();
  v1::Record record = Rep(one.key, 2, 1, 5);
  record.mutable_repetition()->mutable_measurements(0)->set_unit(static_cast<v1::Unit>(7));
  record.mutable_repetition()->mutable_measurements(0)->set_direction(static_cast<v1::Direction>(9));
  v1::Measurement& measurement = *record.mutable_repetition()->mutable_measurements(0);
  measurement.GetReflection()->MutableUnknownFields(&measurement)->AddVarint(500, 42);
  v1::Record new_kind = Base(one.key, 3);
  new_kind.GetReflection()->MutableUnknownFields(&new_kind)->AddLengthDelimited(600, "a new kind");
  EXPECT_EQ(Acked(StoreAll(one.host, {Started(one.key), record, new_kind}), one.key), 3U);
  EXPECT_EQ(Value("SELECT unit || ' ' || direction FROM fleetmark_report.result"), "unknown(7) unknown(9)");
  const auto results = store_->results().Query({{}, {one.run}, {}});
  ASSERT_EQ(results->rows.size(), 1U);
  EXPECT_EQ(static_cast<int>(results->rows[0].measurement.unit()), 7);
  const v1::Measurement& read = results->rows[0].measurement;
  EXPECT_EQ(read.GetReflection()->GetUnknownFields(read).field_count(), 1);
  EXPECT_EQ(Value("SELECT kind || ' ' || (position('a new kind'::bytea IN message) > 0) FROM fleetmark.record WHERE "
                  "sequence = 3"),
            "0 true");
}

// C-123
TEST_F(StoreTest, ImpossibleTimesAreKeptRawAndOrderedByArrival) {
  const Assigned one = AssignOne();
  std::vector<v1::Record> records = {Started(one.key)};
  uint32_t number = 0;
  for (const double bad : {0.0, 3.2e8, 2.5e11, 1.8e18, -5.0}) {
    v1::Record record = Rep(one.key, records.size() + 1, ++number, 1);
    record.set_agent_unix_seconds(bad);
    record.mutable_repetition()->set_started_unix_seconds(bad);
    records.push_back(record);
  }
  records.push_back(Samples(one.key, records.size() + 1, {1}));
  records.back().mutable_samples()->set_start_unix_seconds(1e30);
  const StoredRecords stored = StoreAll(one.host, records);
  EXPECT_EQ(Acked(stored, one.key), 7U);
  EXPECT_THAT(stored.quarantined, IsEmpty());
  EXPECT_EQ(
      Value("SELECT count(*) FROM fleetmark.repetition WHERE clock_bad AND started_at BETWEEN now() - interval '1 min'"
            " AND now() + interval '1 min'"),
      "5");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.record WHERE clock_bad"), "5");
  EXPECT_EQ(Value("SELECT max(started_unix_seconds) FROM fleetmark.repetition"), "1.8e+18");
  EXPECT_EQ(
      Value("SELECT count(*) FROM fleetmark.sample_chunk WHERE clock_bad AND started_at > now() - interval '1 min'"),
      "1");
}

// C-110, C-111, C-109: one bad thing among many is found and named; everything else is stored.
TEST_F(StoreTest, ABadRecordDoesNotHoldUpTheOthers) {
  const Assigned one = AssignOne();
  std::vector<v1::Record> records = {Started(one.key)};
  for (uint32_t i = 1; i <= 40; ++i) records.push_back(Rep(one.key, records.size() + 1, i, i));
  // The schema refuses a metric's name of this length.
  records[17].mutable_repetition()->mutable_measurements(0)->set_metric(std::string(300, 'm'));
  // The same repetition twice under two sequences.
  records[30].mutable_repetition()->set_number(3);
  const StoredRecords stored = StoreAll(one.host, records);
  EXPECT_EQ(Acked(stored, one.key), 41U);  // never asked for again
  ASSERT_EQ(stored.quarantined.size(), 2U);
  EXPECT_EQ(stored.quarantined[0].id.sequence(), 18U);
  EXPECT_THAT(stored.quarantined[0].reason, HasSubstr("metric"));
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.measurement"), "38");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.quarantine"), "2");
  const StoredRecords again = StoreAll(one.host, records);
  EXPECT_EQ(again.duplicates, 41U);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.quarantine"), "2");
  EXPECT_EQ(Acked(StoreAll(one.host, {Finished(one.key, 42)}), one.key), 42U);
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_SUCCEEDED);
}

TEST_F(StoreTest, ValuesThatAreNoNumbersAreAbsentWithAReason) {
  const Assigned one = AssignOne();
  v1::Record record = Rep(one.key, 2, 1, std::numeric_limits<double>::quiet_NaN());
  v1::Measurement& good = *record.mutable_repetition()->add_measurements();
  good.set_metric(std::string("write\0\0", 7));  // C-109
  good.set_value(1.5);
  good.set_elapsed_seconds(std::numeric_limits<double>::infinity());
  record.mutable_repetition()->mutable_conditions()->set_cpu_pressure(std::numeric_limits<double>::quiet_NaN());
  (*good.mutable_derived_parameters())["x"].set_number(std::numeric_limits<double>::quiet_NaN());
  const StoredRecords stored = StoreAll(one.host, {Started(one.key), record});
  EXPECT_EQ(Acked(stored, one.key), 2U);
  ASSERT_EQ(stored.quarantined.size(), 1U);
  EXPECT_THAT(stored.quarantined[0].reason, HasSubstr("not a finite number"));
  EXPECT_EQ(Value("SELECT string_agg(metric || '=' || coalesce(value::text, missing_reason), ' ' ORDER BY metric)"
                  " FROM fleetmark_report.result"),
            "read.bandwidth=not a finite number write=1.5");
}

// C-110: 10 000 samples, one of them NaN.
TEST_F(StoreTest, SamplesAreStoredInChunksWithoutTheBadOne) {
  const Assigned one = AssignOne();
  std::vector<v1::Record> records = {Started(one.key)};
  for (int chunk = 0; chunk < 50; ++chunk) {
    std::vector<double> values(200, chunk);
    if (chunk == 25) values[1] = std::numeric_limits<double>::quiet_NaN();
    records.push_back(Samples(one.key, records.size() + 1, values));
  }
  const StoredRecords stored = StoreAll(one.host, records);
  EXPECT_EQ(Acked(stored, one.key), 51U);
  EXPECT_EQ(stored.quarantined.size(), 1U);
  EXPECT_EQ(Value("SELECT count(*) || ' ' || count(DISTINCT at) FROM fleetmark_report.sample WHERE value = 25"),
            "199 199");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark_report.sample"), "9999");
  // The offsets of what follows still hold: the third sample lies 2 ms after the first.
  EXPECT_EQ(Value("SELECT extract(epoch FROM max(at) - min(at))::float8 FROM (SELECT at FROM fleetmark_report.sample"
                  " WHERE value = 25 ORDER BY at LIMIT 2) s"),
            "0.002");
  v1::Record uneven = Samples(one.key, 52, {1, 2});
  uneven.mutable_samples()->add_values(3);
  EXPECT_THAT(StoreAll(one.host, {uneven}).quarantined[0].reason, HasSubstr("3 values but 2 offsets"));
}

TEST_F(StoreTest, HistogramsComeWithTheirPercentiles) {
  const Assigned one = AssignOne();
  LatencyHistogram histogram;
  for (int64_t i = 1; i <= 100000; ++i) histogram.Record(i * 10);
  v1::Record record = Rep(one.key, 2, 1, 5);
  record.mutable_repetition()->mutable_measurements(0)->set_latency_histogram(histogram.Serialize());
  v1::Record broken = Rep(one.key, 3, 2, 6);
  broken.mutable_repetition()->mutable_measurements(0)->set_latency_histogram("no histogram");
  const StoredRecords stored = StoreAll(one.host, {Started(one.key), record, broken});
  EXPECT_EQ(stored.quarantined.size(), 1U);
  EXPECT_EQ(Value("SELECT latency_p50_seconds BETWEEN 0.000498 AND 0.000502 AND latency_p999_seconds BETWEEN 0.00099 "
                  "AND 0.001004"
                  " FROM fleetmark.measurement WHERE repetition = 1"),
            "t");
  EXPECT_EQ(Value("SELECT latency_p50_seconds IS NULL AND latency_histogram IS NULL FROM fleetmark.measurement WHERE "
                  "repetition = 2"),
            "t");
  const auto results = store_->results().Query({{}, {one.run}, {}});
  ASSERT_EQ(results->rows.size(), 2U);
  EXPECT_EQ(results->rows[0].measurement.latency_histogram(), histogram.Serialize());
}

// C-112: what is repeated or refused does not use up identities.
TEST_F(StoreTest, RepeatsBurnNoIdentities) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = {Started(one.key),
                                           Rep(one.key, 2, 1, std::numeric_limits<double>::quiet_NaN())};
  for (int i = 0; i < 10; ++i) StoreAll(one.host, records);
  EXPECT_EQ(Value("SELECT last_value FROM fleetmark.snapshot_id_seq"), "1");
  StoreAll(one.host, {Rep(one.key, 2, 1, 7)});
  EXPECT_EQ(Value("SELECT last_value FROM fleetmark.quarantine_id_seq"), "2");
}

}  // namespace
}  // namespace fleetmark::collector
