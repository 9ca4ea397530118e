// A directory of its own for each test, and short ways to make tasks and records.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/spool/sqlite_spool.h"

namespace fleetmark::agent {

class SpoolFixture : public ::testing::Test {
 protected:
  SpoolFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spool_test.XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~SpoolFixture() override {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }

  std::string path() const { return directory_ + "/spool.db"; }

  SqliteSpool::Options options() const {
    SqliteSpool::Options options;
    options.path = path();
    return options;
  }

  static v1::StartTask Task(int64_t id, uint32_t attempt = 1) {
    v1::StartTask task;
    task.set_task_id(id);
    task.set_attempt(attempt);
    task.set_workload("host.clock");
    task.set_version(1);
    return task;
  }

  static v1::Record Started() {
    v1::Record record;
    record.mutable_started()->set_workload("host.clock");
    return record;
  }
  static v1::Record RepetitionOf(uint32_t number, size_t padding = 0) {
    v1::Record record;
    record.mutable_repetition()->set_number(number);
    if (padding > 0) {
      record.mutable_repetition()->add_measurements()->set_latency_histogram(std::string(padding, 'h'));
    }
    return record;
  }
  static v1::Record Finished(v1::TaskOutcome outcome = v1::TASK_OUTCOME_SUCCEEDED) {
    v1::Record record;
    record.mutable_finished()->set_outcome(outcome);
    return record;
  }

  static std::vector<uint64_t> Sequences(const Spool::Batch& batch) {
    std::vector<uint64_t> sequences;
    for (const v1::Record& record : batch.records) sequences.push_back(record.id().sequence());
    return sequences;
  }

  std::string directory_;
};

inline void AppendOk(Spool& spool, int64_t task, std::vector<v1::Record> records) {
  const absl::StatusOr<uint64_t> position = spool.Append(task, 1, records);
  ASSERT_TRUE(position.ok()) << position.status();
}

}  // namespace fleetmark::agent
