// A store on a database of its own, and short ways to fill it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/store/store.h"
#include "tests/support/postgres.h"

namespace fleetmark::collector {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dsn_ = fleetmark::testing::NewDatabase();
    store_ = OpenStore();
  }

  void TearDown() override {
    store_.reset();
    fleetmark::testing::DropDatabase(dsn_);
  }

  std::unique_ptr<Store> OpenStore() const {
    DatabaseOptions options;
    options.dsn = dsn_;
    auto store = Store::Open(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  std::string Value(const std::string& statement) const { return fleetmark::testing::SqlValue(dsn_, statement); }
  void Exec(const std::string& statement) const {
    const auto rows = fleetmark::testing::Sql(dsn_, statement);
    ASSERT_TRUE(rows.empty() || rows[0][0] != "ERROR") << statement << ": " << rows[0][2];
  }

  // A host that has joined.
  HostId AddHost(const std::string& name) {
    const std::string number = absl::StrCat(++tokens_);
    const std::string token = std::string(64 - number.size(), 't') + number;
    EXPECT_TRUE(
        store_->trust()
            .AddToken(token, {v1::INVITE_KIND_HOST, "", v1::ROLE_UNSPECIFIED}, absl::Now() + absl::Hours(1), "test")
            .ok());
    auto enrolled = store_->trust().Enroll(token, name, [&](const TokenGrant&, const std::string& id) {
      return absl::StatusOr<IssuedCertificate>(
          IssuedCertificate{"serial-" + id, "urn:fleetmark:host:" + id, "PEM", absl::Now() + absl::Hours(24)});
    });
    EXPECT_TRUE(enrolled.ok()) << enrolled.status();
    return enrolled.ok() ? enrolled->id : "";
  }

  // A host whose claim collector "c1" holds.
  HostId AddConnectedHost(const std::string& name) {
    const HostId host = AddHost(name);
    EXPECT_TRUE(store_->hosts().TakeClaim(host, {"c1", "session-" + name, "boot-" + name}).ok());
    return host;
  }

  static NewTask TaskOn(const HostId& host, const std::string& host_name, const std::string& workload = "disk.profile",
                        uint32_t position = 0) {
    NewTask task;
    task.host = host;
    task.host_name = host_name;
    task.workload = workload;
    task.version = 1;
    task.target = "ssd";
    task.position = position;
    task.parameters["size"].set_number(1 << 30);
    return task;
  }

  RunId AddRun(const std::vector<NewTask>& tasks, bool serial = false) {
    NewRun run;
    run.suite = "quick";
    run.created_by = "alice";
    run.serial = serial;
    run.tasks = tasks;
    const auto id = store_->runs().CreateRun(run);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }

  // One task on one connected host, assigned.
  struct Assigned {
    HostId host;
    RunId run = 0;
    AttemptKey key;
  };
  Assigned AssignOne(const std::string& name = "mac") {
    Assigned assigned;
    assigned.host = AddConnectedHost(name);
    assigned.run = AddRun({TaskOn(assigned.host, name)});
    const auto start = store_->runs().AssignNextTask(assigned.host, "c1");
    EXPECT_TRUE(start.ok() && start->has_value()) << start.status();
    if (start.ok() && start->has_value()) assigned.key = {(*start)->task_id(), (*start)->attempt()};
    return assigned;
  }

  v1::TaskState TaskStateOf(RunId run, TaskId task) {
    const auto found = store_->runs().GetRun(run);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const v1::Task& one : found->tasks()) {
      if (one.id() == task) return one.state();
    }
    return v1::TASK_STATE_UNSPECIFIED;
  }
  v1::RunState RunStateOf(RunId run) {
    const auto found = store_->runs().GetRun(run);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->state();
  }

  static double NowSeconds() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

  static v1::Record Base(const AttemptKey& key, uint64_t sequence) {
    v1::Record record;
    record.mutable_id()->set_task_id(key.task);
    record.mutable_id()->set_attempt(key.attempt);
    record.mutable_id()->set_sequence(sequence);
    record.set_agent_unix_seconds(NowSeconds());
    return record;
  }
  static v1::Record Started(const AttemptKey& key, const std::string& disk = "disk-1") {
    v1::Record record = Base(key, 1);
    v1::TaskStarted& started = *record.mutable_started();
    started.set_workload("disk.profile");
    started.set_version(1);
    (*started.mutable_identity_parameters())["size"].set_number(1 << 30);
    (*started.mutable_derived_parameters())["engine"].set_text("io_uring");
    started.mutable_inventory()->set_agent_build("g++ 12 -O2");
    v1::Target& target = *started.mutable_target();
    target.set_name("ssd");
    target.set_path("/mnt/ssd");
    target.set_file_system("ext4");
    target.add_stack()->set_device("vda1");
    target.add_stack()->set_device("vda");
    v1::Disk& one = *target.add_disks();
    one.set_identity(disk);
    one.set_model("Samsung");
    return record;
  }
  static v1::Record Rep(const AttemptKey& key, uint64_t sequence, uint32_t number, double value, bool warmup = false) {
    v1::Record record = Base(key, sequence);
    v1::Repetition& repetition = *record.mutable_repetition();
    repetition.set_number(number);
    repetition.set_warmup(warmup);
    repetition.set_started_unix_seconds(NowSeconds());
    repetition.set_measure_seconds(1.5);
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric("read.bandwidth");
    measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
    measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement.set_value(value);
    return record;
  }
  static v1::Record Samples(const AttemptKey& key, uint64_t sequence, const std::vector<double>& values) {
    v1::Record record = Base(key, sequence);
    v1::SampleBatch& samples = *record.mutable_samples();
    samples.set_metric("temperature");
    samples.set_unit(v1::UNIT_COUNT);
    samples.set_repetition(1);
    samples.set_start_unix_seconds(NowSeconds());
    for (const double value : values) {
      samples.add_offset_deltas_us(1000);
      samples.add_values(value);
    }
    return record;
  }
  static v1::Record Finished(const AttemptKey& key, uint64_t sequence,
                             v1::TaskOutcome outcome = v1::TASK_OUTCOME_SUCCEEDED, const std::string& reason = "") {
    v1::Record record = Base(key, sequence);
    record.mutable_finished()->set_outcome(outcome);
    record.mutable_finished()->set_reason(reason);
    record.mutable_finished()->set_stop_reason("precise");
    return record;
  }
  // Started, `values` as repetitions, finished.
  static std::vector<v1::Record> WholeTask(const AttemptKey& key, const std::vector<double>& values) {
    std::vector<v1::Record> records = {Started(key)};
    for (const double value : values) {
      records.push_back(Rep(key, records.size() + 1, static_cast<uint32_t>(records.size()), value));
    }
    records.push_back(Finished(key, records.size() + 1));
    return records;
  }

  StoredRecords StoreAll(const HostId& host, const std::vector<v1::Record>& records) {
    auto stored = store_->results().StoreRecords(host, records);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? *stored : StoredRecords();
  }
  static uint64_t Acked(const StoredRecords& stored, const AttemptKey& key) {
    for (const v1::Ack& ack : stored.acks) {
      if (ack.task_id() == key.task && ack.attempt() == key.attempt) return ack.sequence();
    }
    return 0;
  }

  std::string dsn_;
  std::unique_ptr<Store> store_;
  int tokens_ = 0;
};

}  // namespace fleetmark::collector
