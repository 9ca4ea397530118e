// A link with a real spool behind it, against scripted collectors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "agent/connection/agent_link.h"
#include "agent/spool/outbox.h"
#include "tests/agent/connection/scripted_collector.h"
#include "tests/agent/spool/spool_fixture.h"

namespace fleetmark::agent {

inline constexpr char kHostId[] = "22222222-2222-4222-8222-222222222222";

// What the rest of the agent would do, as little as possible.
class SpoolListener : public LinkListener {
 public:
  explicit SpoolListener(Outbox& outbox) : outbox_(outbox) {}

  v1::Hello MakeHello() override {
    v1::Hello hello;
    hello.set_host_name("machine");
    hello.set_session_id("session");
    return hello;
  }
  void OnWelcome(const v1::Welcome&) override { ++welcomes; }
  void OnDisconnect() override { ++disconnects; }
  void OnStartTask(const v1::StartTask& task) override {
    last_started = task.task_id();
    if (on_start) on_start(task);
  }
  void OnCancelTask(const v1::CancelTask& cancel) override { last_cancelled = cancel.task_id(); }
  void OnRemoved() override { ++removals; }
  absl::StatusOr<Spool::Batch> ReadRecords(uint64_t after, size_t bytes) override { return outbox_.Read(after, bytes); }
  absl::Status Acknowledge(const v1::Ack& ack) override {
    return outbox_.Acknowledge(ack.task_id(), ack.attempt(), ack.sequence());
  }
  v1::AgentStatus OnHeartbeat() override { return outbox_.Status(); }
  bool IfDiskIsFree(const std::function<void()>& work) override {
    return outbox_.IfDiskIsFree([&](Spool&) { work(); });
  }

  std::function<void(const v1::StartTask&)> on_start;  // set before the link starts
  std::atomic<int> welcomes{0};
  std::atomic<int> disconnects{0};
  std::atomic<int> removals{0};
  std::atomic<int64_t> last_started{0};
  std::atomic<int64_t> last_cancelled{0};

 private:
  Outbox& outbox_;
};

// The machine's clock, to which a test can add sleep or a step of the wall clock.
class SleepyClock : public Clock {
 public:
  absl::Time Now() const override { return SystemClock().Now() + absl::Nanoseconds(wall_step_ns.load()); }
  int64_t MonotonicNs() const override { return SystemClock().MonotonicNs(); }
  int64_t BootNs() const override { return SystemClock().BootNs() + slept_ns.load(); }
  std::atomic<int64_t> slept_ns{0};
  std::atomic<int64_t> wall_step_ns{0};
};

class LinkFixture : public SpoolFixture {
 protected:
  LinkFixture() : spool_(SpoolFixture::options()), outbox_(spool_), listener_(outbox_) {
    files_ = WriteIdentity(directory_, fleet_.Host(kHostId));
    options_.identity = files_;
    options_.backoff.initial = absl::Milliseconds(10);
    options_.backoff.cap = absl::Milliseconds(50);
    options_.least_heartbeat = absl::Milliseconds(50);
    options_.longest_nap = absl::Milliseconds(100);
  }
  ~LinkFixture() override { StopLink(); }

  std::unique_ptr<ScriptedCollector> MakeCollector(ScriptedCollector::Script script, int max_bytes = 8 << 20,
                                                   int port = 0) {
    return std::make_unique<ScriptedCollector>(fleet_.Collector(), std::move(script), max_bytes, port);
  }
  std::unique_ptr<ScriptedCollector> NormalCollector(double heartbeat_seconds = 10) {
    return MakeCollector(
        [heartbeat_seconds](ScriptedCollector::Side& side) { return side.ServeNormally(heartbeat_seconds); });
  }

  void StartLink(std::vector<std::string> addresses) {
    options_.collectors = std::move(addresses);
    AgentLink::Dependencies dependencies;
    dependencies.listener = &listener_;
    dependencies.clock = &clock_;
    link_ = AgentLink::Create(options_, std::move(dependencies));
    link_->Start();
  }
  void StopLink() {
    if (link_ != nullptr) link_->Shutdown(absl::Seconds(2));
  }

  void Append(int64_t task, std::vector<v1::Record> records) {
    ASSERT_TRUE(spool_.AddTask(Task(task)).ok());
    ASSERT_TRUE(outbox_.Append(task, 1, records).ok());
    if (link_ != nullptr) link_->RecordsAvailable();
  }

  static v1::AgentMessage Accepted(int64_t task) {
    v1::AgentMessage message;
    message.mutable_accepted()->set_task_id(task);
    message.mutable_accepted()->set_attempt(1);
    return message;
  }

  TestFleet fleet_;
  SqliteSpool spool_;
  Outbox outbox_;
  SpoolListener listener_;
  SleepyClock clock_;
  TlsFiles files_;
  AgentLink::Options options_;
  std::unique_ptr<AgentLink> link_;
};

}  // namespace fleetmark::agent
