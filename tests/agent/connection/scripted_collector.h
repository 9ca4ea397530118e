// A collector for tests of the link: a real gRPC server on loopback with real certificates, whose side of the stream is
// a function of the test. It keeps what it has "committed".
#pragma once

#include <grpcpp/server.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/pki/key.h"
#include "common/pki/tls_files.h"
#include "common/sync/mutex.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::agent {

// A fleet's CA, and certificates of it.
class TestFleet {
 public:
  TestFleet();
  TlsMaterial Collector() const;
  TlsMaterial Host(const std::string& uuid, absl::Duration life = absl::Hours(24 * 365)) const;
  std::string Sign(const std::string& request_der, const std::string& uuid) const;  // a chain
  const std::string& ca_pem() const { return ca_pem_; }

 private:
  TlsMaterial Issue(bool collector, const std::string& id, absl::Duration life) const;
  PrivateKey ca_key_;
  std::string ca_pem_;
};

// Writes ca.pem, agent.pem and agent.key into the directory.
TlsFiles WriteIdentity(const std::string& directory, const TlsMaterial& material);

class ScriptedCollector : public v1::AgentService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::CollectorMessage, v1::AgentMessage>;

  // One connection, seen from the collector.
  class Side {
   public:
    Side(ScriptedCollector& collector, Stream& stream, int nth) : number(nth), collector_(collector), stream_(stream) {}
    const int number;  // of the connection, from 1
    v1::Hello hello;

    bool Read(v1::AgentMessage* message) { return stream_.Read(message); }
    bool Write(const v1::CollectorMessage& message) { return stream_.Write(message); }
    bool ReadHello();
    bool SendWelcome(double heartbeat_seconds = 10, uint32_t protocol = 1);
    bool SendStart(int64_t task);
    bool SendAck(int64_t task, uint64_t sequence);
    bool SendHold(double seconds);
    bool SendHeartbeat();
    bool SendRefusal(v1::RefusalReason reason, const std::string& text, double retry_after);
    // Stores the records of a batch and answers with acknowledgements.
    bool Commit(const v1::RecordBatch& batch);
    // Hello, welcome, `messages`, then commits and acknowledges until the stream ends. `seen` gets each message of the
    // agent after it has been dealt with.
    grpc::Status ServeNormally(double heartbeat_seconds = 10, const std::vector<v1::CollectorMessage>& messages = {},
                               const std::function<void(const v1::AgentMessage&)>& seen = nullptr);

   private:
    ScriptedCollector& collector_;
    Stream& stream_;
  };
  using Script = std::function<grpc::Status(Side&)>;

  ScriptedCollector(const TlsMaterial& material, Script script, int max_message_bytes = 8 << 20, int port = 0);
  ~ScriptedCollector() override;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  void Stop();

  // Waits (bounded) until the condition, evaluated after every change, holds.
  bool WaitFor(const std::function<bool()>& condition);
  void Note();  // something changed that a condition looks at

  int connections();
  std::vector<uint64_t> Committed(int64_t task);  // sequences, each once, in order
  v1::Record CommittedRecord(int64_t task, uint64_t sequence);
  std::vector<v1::AgentMessage> Received();  // everything but records, of all connections
  int CountReceived(v1::AgentMessage::KindCase kind);
  size_t largest_batch();

  std::function<grpc::Status(const v1::RenewCertificateRequest&, v1::RenewCertificateResponse*)> renew;

 private:
  friend class Side;
  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status RenewCertificate(grpc::ServerContext* context, const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override;

  const Script script_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  Mutex mutex_;
  CondVar changed_;
  int connections_ GUARDED_BY(mutex_) = 0;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;
  size_t largest_batch_ GUARDED_BY(mutex_) = 0;
  std::map<std::pair<int64_t, uint64_t>, v1::Record> committed_ GUARDED_BY(mutex_);
  std::vector<v1::AgentMessage> received_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::agent
