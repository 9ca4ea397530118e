// An agent that does what a test says: enrolled like a real one, with a stream of its own, measuring nothing.
#pragma once

#include <grpcpp/client_context.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/pki/tls_files.h"
#include "common/sync/mutex.h"
#include "fleetmark/v1/agent.grpc.pb.h"
#include "tests/integration/support/fleet_fixture.h"

namespace fleetmark::collector {

class ScriptedAgent {
 public:
  // Enrols a new host with an invite of `fleet`.
  ScriptedAgent(TestCollector& fleet, std::string name);
  ~ScriptedAgent();

  const std::string& id() const { return id_; }
  const std::string& name() const { return name_; }  // the fleet's
  const TlsMaterial& material() const { return material_; }

  // What the next Hello says; tests change it.
  v1::Hello& hello() { return hello_; }

  // Opens a stream to `collector` and says Hello.
  void Connect(TestCollector& collector);
  // Connect, and waits for the Welcome. False: something else came.
  bool Join(TestCollector& collector);
  void Cut();  // the connection goes away without a word

  bool Send(const v1::AgentMessage& message) EXCLUDES(write_mutex_);
  // The next message of this kind; others stay where they are. Heartbeats are left out.
  std::optional<v1::CollectorMessage> Await(v1::CollectorMessage::KindCase kind,
                                            absl::Duration timeout = absl::Seconds(15)) EXCLUDES(mutex_);
  std::optional<v1::CollectorMessage> Next(absl::Duration timeout = absl::Seconds(15)) EXCLUDES(mutex_);
  // What the stream ended with.
  grpc::Status AwaitEnd() EXCLUDES(mutex_);

  // From StartTask to what a worker would yield: started, `repetitions` of one metric, finished.
  static std::vector<v1::Record> RecordsOf(const v1::StartTask& start, int repetitions, double value = 100);
  bool SendRecords(const std::vector<v1::Record>& records);
  bool Accept(const v1::StartTask& start);
  // Awaits a StartTask, accepts it and sends its records; waits for the last Ack. The StartTask, if all went well.
  std::optional<v1::StartTask> PerformTask(int repetitions = 3, double value = 100);

  static v1::WorkloadDescriptor Workload(const std::string& name, bool needs_target);

 private:
  void Read() EXCLUDES(mutex_);

  TestCollector& fleet_;
  test::TempDirectory directory_;
  std::string id_, name_;
  TlsMaterial material_;
  v1::Hello hello_;

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CollectorMessage>> stream_;
  std::thread reader_;

  Mutex write_mutex_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::CollectorMessage> arrived_ GUARDED_BY(mutex_);
  bool over_ GUARDED_BY(mutex_) = true;
  grpc::Status end_ GUARDED_BY(mutex_);
};

// Polls until `condition` holds; false after 15 s.
bool Eventually(const std::function<bool()>& condition);

}  // namespace fleetmark::collector
