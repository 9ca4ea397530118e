// Sessions over stores in memory, with a worker thread that a test can stop, and streams that keep what they are told.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/service/agent/agent_session.h"
#include "common/time/clock.h"
#include "tests/support/collector/fake_host_store.h"
#include "tests/support/collector/fake_run_store.h"
#include "tests/support/trust/fake_trust_store.h"

namespace fleetmark::collector {

class RevokingTrustStore : public test::FakeTrustStore {
 public:
  absl::StatusOr<bool> IsRevoked(const std::string& serial_hex) override {
    if (on_look_) on_look_();
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    return revoked_.contains(serial_hex);
  }
  // Called in the middle of an admission, on the worker thread. Set while that does nothing.
  void OnLook(std::function<void()> on_look) { on_look_ = std::move(on_look); }
  void Revoke(const std::string& serial_hex) {
    MutexLock lock(mutex_);
    revoked_.insert(serial_hex);
  }
  void FailIsRevoked(const absl::Status& failure) {
    MutexLock lock(mutex_);
    failure_ = failure;
  }

 private:
  std::function<void()> on_look_;
  Mutex mutex_;
  std::set<std::string> revoked_ GUARDED_BY(mutex_);
  absl::Status failure_ GUARDED_BY(mutex_);
};

// Commits everything, and acknowledges the highest sequence of each task.
class CommittingResults : public ResultStore, public test::StoreCalls {
 public:
  absl::StatusOr<StoredRecords> StoreRecords(const HostId&, const std::vector<v1::Record>& records) override {
    if (const absl::Status status = Called("StoreRecords"); !status.ok()) return status;
    std::map<AttemptKey, uint64_t> highest;
    StoredRecords stored;
    MutexLock lock(mutex_);
    for (const v1::Record& record : records) {
      uint64_t& sequence = highest[{record.id().task_id(), record.id().attempt()}];
      sequence = std::max(sequence, record.id().sequence());
      records_.push_back(record);
      if (record.has_finished()) stored.changed_runs.push_back(7);
    }
    for (const auto& [key, sequence] : highest) {
      v1::Ack& ack = stored.acks.emplace_back();
      ack.set_task_id(key.task);
      ack.set_attempt(key.attempt);
      ack.set_sequence(sequence);
    }
    return stored;
  }
  absl::StatusOr<ResultSet> Query(const ResultQuery&) override { return absl::UnimplementedError("not here"); }
  std::vector<v1::Record> records() const {
    MutexLock lock(mutex_);
    return records_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<v1::Record> records_ GUARDED_BY(mutex_);
};

// Events as words: "ready", "refuses for 30s", "run 7 changed", "progress of 10".
class RecordingEvents : public SessionEvents {
 public:
  void HostReady(const HostId&) override { Note("ready"); }
  void HostRefuses(const HostId&, absl::Duration wait) override {
    Note(absl::StrCat("refuses for ", absl::FormatDuration(wait)));
  }
  void RunsChanged(const std::vector<RunId>& runs) override {
    for (const RunId run : runs) Note(absl::StrCat("run ", run, " changed"));
  }
  void ProgressArrived(const HostId&, const v1::Progress& progress) override {
    Note(absl::StrCat("progress of ", progress.task_id(),
                      std::isfinite(progress.fraction()) ? "" : " that is no number"));
  }
  // Since the last call.
  std::vector<std::string> Take() {
    MutexLock lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  void Note(std::string event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
  }
  Mutex mutex_;
  std::vector<std::string> events_ GUARDED_BY(mutex_);
};

// A stream, as its session sees it.
class RecordingPort : public AgentSession::Port {
 public:
  bool Write(v1::CollectorMessage message) override {
    MutexLock lock(mutex_);
    if (full_) return false;
    written_.push_back(std::move(message));
    return true;
  }
  void Resume() override {
    MutexLock lock(mutex_);
    ++resumes_;
  }
  void Finish(const absl::Status& status) override {
    MutexLock lock(mutex_);
    finishes_.push_back(status);
  }
  void Cancel() override {
    MutexLock lock(mutex_);
    ++cancels_;
  }

  void SetFull() {
    MutexLock lock(mutex_);
    full_ = true;
  }
  std::vector<v1::CollectorMessage> written() const {
    MutexLock lock(mutex_);
    return written_;
  }
  std::vector<absl::Status> finishes() const {
    MutexLock lock(mutex_);
    return finishes_;
  }
  // How it was finished; nullopt: not, or more than once.
  std::optional<absl::StatusCode> end() const {
    const std::vector<absl::Status> all = finishes();
    return all.size() == 1 ? std::optional(all[0].code()) : std::nullopt;
  }
  int resumes() const {
    MutexLock lock(mutex_);
    return resumes_;
  }
  int cancels() const {
    MutexLock lock(mutex_);
    return cancels_;
  }

 private:
  mutable Mutex mutex_;
  bool full_ GUARDED_BY(mutex_) = false;
  std::vector<v1::CollectorMessage> written_ GUARDED_BY(mutex_);
  std::vector<absl::Status> finishes_ GUARDED_BY(mutex_);
  int resumes_ GUARDED_BY(mutex_) = 0;
  int cancels_ GUARDED_BY(mutex_) = 0;
};

inline constexpr char kMac[] = "11111111-1111-4111-8111-111111111111";

class SessionFixture : public ::testing::Test {
 protected:
  struct Stream {
    RecordingPort port;
    std::shared_ptr<AgentSession> session;
    bool over = false;

    std::vector<v1::CollectorMessage> written() const { return port.written(); }
    // The kinds of what was written, in order.
    std::vector<v1::CollectorMessage::KindCase> kinds() const {
      std::vector<v1::CollectorMessage::KindCase> kinds;
      for (const v1::CollectorMessage& message : port.written()) kinds.push_back(message.kind_case());
      return kinds;
    }
    void Detach() {
      if (!std::exchange(over, true)) session->Detach();
    }
  };

  SessionFixture() { hosts_.AddHost(kMac, "mac"); }
  ~SessionFixture() override {
    OpenWorker();
    for (const auto& stream : streams_) stream->Detach();
    workers_.Shutdown(absl::Seconds(30));
  }

  static Peer PeerOfHost(const std::string& id = kMac) {
    return {{IdentityKind::kHost, id, ""}, "serial-of-" + id, "ipv4:10.0.0.7:40000"};
  }
  static v1::Hello HelloOf(const std::string& host = kMac, const std::string& session = "s1",
                           const std::string& boot = "b1") {
    v1::Hello hello;
    hello.set_host_id(host);
    hello.set_host_name("mac.local");
    hello.set_session_id(session);
    hello.set_boot_id(boot);
    hello.set_agent_version("1.4");
    hello.set_protocol_minimum(kProtocolMinimum);
    hello.set_protocol_maximum(kProtocolMaximum);
    return hello;
  }

  // --- messages of an agent ---
  static v1::AgentMessage HelloMessage(const v1::Hello& hello = HelloOf()) {
    v1::AgentMessage message;
    *message.mutable_hello() = hello;
    return message;
  }
  static v1::AgentMessage AcceptedMessage(TaskId task) {
    v1::AgentMessage message;
    message.mutable_accepted()->set_task_id(task);
    message.mutable_accepted()->set_attempt(1);
    return message;
  }
  static v1::AgentMessage RefusedMessage(TaskId task, bool temporary) {
    v1::AgentMessage message;
    message.mutable_refused()->set_task_id(task);
    message.mutable_refused()->set_attempt(1);
    message.mutable_refused()->set_reason("no target 'ssd'");
    message.mutable_refused()->set_temporary(temporary);
    return message;
  }
  static v1::AgentMessage InventoryMessage(const std::string& kernel = "6.1") {
    v1::AgentMessage message;
    message.mutable_inventory()->mutable_os()->set_kernel(kernel);
    return message;
  }
  static v1::AgentMessage StatusMessage(const std::string& refuses = "") {
    v1::AgentMessage message;
    message.mutable_status()->set_refuses_tasks_because(refuses);
    return message;
  }
  static v1::AgentMessage ProgressMessage(TaskId task) {
    v1::AgentMessage message;
    message.mutable_progress()->set_task_id(task);
    message.mutable_progress()->set_attempt(1);
    return message;
  }
  static v1::AgentMessage HeartbeatMessage() {
    v1::AgentMessage message;
    message.mutable_heartbeat();
    return message;
  }
  static v1::AgentMessage RecordsMessage(TaskId task, const std::vector<uint64_t>& sequences, size_t bytes = 0) {
    v1::AgentMessage message;
    message.mutable_records();
    for (const uint64_t sequence : sequences) {
      v1::Record& record = *message.mutable_records()->add_records();
      record.mutable_id()->set_task_id(task);
      record.mutable_id()->set_attempt(1);
      record.mutable_id()->set_sequence(sequence);
      record.mutable_repetition()->set_number(1);
      if (bytes > 0) {
        record.mutable_repetition()->add_measurements()->set_latency_histogram(std::string(bytes, 'x'));
      }
    }
    return message;
  }

  // --- streams ---
  Stream& Open(const Peer& peer = PeerOfHost()) {
    auto& stream = *streams_.emplace_back(std::make_unique<Stream>());
    stream.session = std::make_shared<AgentSession>(context_, peer, &stream.port, Now());
    return stream;
  }
  // A stream whose hello has been answered.
  Stream& OpenLive(const v1::Hello& hello = HelloOf()) {
    Stream& stream = Open();
    stream.session->OnMessage(HelloMessage(hello));
    Flush();
    EXPECT_THAT(stream.kinds(), ::testing::Contains(v1::CollectorMessage::kWelcome));
    events_.Take();
    return stream;
  }
  static int64_t Now() { return SystemClock().MonotonicNs(); }
  static constexpr int64_t kSecond = 1'000'000'000;

  // --- the worker thread ---
  // Until it has done what was posted so far.
  void Flush() {
    std::promise<void> done;
    workers_.Post(kMac, [&done] { done.set_value(); });
    done.get_future().wait();
  }
  // It does nothing until OpenWorker().
  void StopWorker() {
    std::promise<void> reached;
    gate_ = std::make_shared<std::promise<void>>();
    workers_.Post(kMac, [&reached, gate = gate_->get_future().share()] {
      reached.set_value();
      gate.wait();
    });
    reached.get_future().wait();
  }
  void OpenWorker() {
    if (const auto gate = std::exchange(gate_, nullptr)) gate->set_value();
  }
  void OpenWorkerAndFlush() {
    OpenWorker();
    Flush();
  }

  bool Connected() const { return registry_.Connected(kMac); }
  bool Claimed() const { return hosts_.host(kMac).claim.has_value(); }

  test::FakeHostStore hosts_;
  test::FakeRunStore runs_;
  RevokingTrustStore trust_;
  CommittingResults results_;
  int64_t quota_ns_ = 0;
  Ingest ingest_{results_,  // 6000 bytes at once
                 {.hold = absl::Seconds(5), .bytes_per_second = 100, .monotonic_ns = [this] { return quota_ns_; }}};
  AgentRegistry registry_;
  ShardedWorkers workers_{"test", 1};
  RecordingEvents events_;
  SessionContext context_{hosts_, runs_, trust_, ingest_, registry_, workers_, events_, "c1", "2.0"};

 private:
  std::shared_ptr<std::promise<void>> gate_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace fleetmark::collector
