#include "tests/agent/connection/scripted_collector.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "absl/time/clock.h"
#include "common/pki/certificate.h"
#include "common/pki/files.h"
#include "common/pki/identity.h"
#include "common/pki/issue.h"
#include "common/rpc/credentials.h"

namespace fleetmark::agent {
namespace {

constexpr std::chrono::seconds kPatience{30};

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::cerr << value.status() << std::endl;
    std::abort();
  }
  return *std::move(value);
}

}  // namespace

TestFleet::TestFleet()
    : ca_key_(Must(PrivateKey::Generate())),
      ca_pem_(Must(MakeAuthorityCertificate(ca_key_, "test fleet", absl::Now() + absl::Hours(24 * 3650)))) {}

TlsMaterial TestFleet::Issue(bool collector, const std::string& id, absl::Duration life) const {
  const PrivateKey key = Must(PrivateKey::Generate());
  Identity identity;
  identity.kind = collector ? IdentityKind::kCollector : IdentityKind::kHost;
  identity.id = id;
  const IssuedLeaf leaf = Must(IssueLeaf(ca_key_, ca_pem_, Must(key.MakeRequest()), identity, absl::Now() + life));
  return {ca_pem_, leaf.chain_pem, key.ToPem()};
}

TlsMaterial TestFleet::Collector() const {
  return Issue(true, "11111111-1111-4111-8111-111111111111", absl::Hours(24 * 365));
}

TlsMaterial TestFleet::Host(const std::string& uuid, absl::Duration life) const { return Issue(false, uuid, life); }

std::string TestFleet::Sign(const std::string& request_der, const std::string& uuid) const {
  Identity identity;
  identity.id = uuid;
  return Must(IssueLeaf(ca_key_, ca_pem_, request_der, identity, absl::Now() + absl::Hours(24 * 365))).chain_pem;
}

TlsFiles WriteIdentity(const std::string& directory, const TlsMaterial& material) {
  const TlsFiles files{directory + "/ca.pem", directory + "/agent.pem", directory + "/agent.key"};
  EXPECT_TRUE(ReplaceFile(files.ca_file, material.ca_pem, 0644).ok());
  EXPECT_TRUE(ReplaceFile(files.certificate_file, material.certificate_chain_pem, 0644).ok());
  EXPECT_TRUE(ReplaceFile(files.key_file, material.key_pem, 0600).ok());
  return files;
}

ScriptedCollector::ScriptedCollector(const TlsMaterial& material, Script script, int max_message_bytes, int port)
    : script_(std::move(script)) {
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  builder.SetMaxReceiveMessageSize(max_message_bytes);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), ServerCredentials(material), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr);
}

ScriptedCollector::~ScriptedCollector() { Stop(); }

void ScriptedCollector::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_ = nullptr;
}

void ScriptedCollector::Note() {
  MutexLock lock(mutex_);
  ++changes_;
  changed_.NotifyAll();
}

bool ScriptedCollector::WaitFor(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    uint64_t seen = 0;
    {
      MutexLock lock(mutex_);
      seen = changes_;
    }
    if (condition()) return true;
    MutexLock lock(mutex_);
    // Conditions may look at the agent's side too, which notifies nobody here.
    if (seen == changes_) changed_.WaitFor(mutex_, std::chrono::milliseconds(20));
    if (std::chrono::steady_clock::now() > until) return false;
  }
}

int ScriptedCollector::connections() {
  MutexLock lock(mutex_);
  return connections_;
}

std::vector<uint64_t> ScriptedCollector::Committed(int64_t task) {
  MutexLock lock(mutex_);
  std::vector<uint64_t> sequences;
  for (const auto& [key, record] : committed_) {
    if (key.first == task) sequences.push_back(key.second);
  }
  return sequences;
}

v1::Record ScriptedCollector::CommittedRecord(int64_t task, uint64_t sequence) {
  MutexLock lock(mutex_);
  return committed_[{task, sequence}];
}

std::vector<v1::AgentMessage> ScriptedCollector::Received() {
  MutexLock lock(mutex_);
  return received_;
}

int ScriptedCollector::CountReceived(v1::AgentMessage::KindCase kind) {
  MutexLock lock(mutex_);
  return static_cast<int>(std::count_if(received_.begin(), received_.end(),
                                        [&](const v1::AgentMessage& message) { return message.kind_case() == kind; }));
}

size_t ScriptedCollector::largest_batch() {
  MutexLock lock(mutex_);
  return largest_batch_;
}

grpc::Status ScriptedCollector::Connect(grpc::ServerContext*, Stream* stream) {
  int number = 0;
  {
    MutexLock lock(mutex_);
    number = ++connections_;
    ++changes_;
    changed_.NotifyAll();
  }
  Side side(*this, *stream, number);
  return script_(side);
}

grpc::Status ScriptedCollector::RenewCertificate(grpc::ServerContext*, const v1::RenewCertificateRequest* request,
                                                 v1::RenewCertificateResponse* response) {
  return renew ? renew(*request, response) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no renewal here");
}

bool ScriptedCollector::Side::ReadHello() {
  v1::AgentMessage message;
  if (!Read(&message) || !message.has_hello()) return false;
  hello = message.hello();
  MutexLock lock(collector_.mutex_);
  collector_.received_.push_back(message);
  return true;
}

bool ScriptedCollector::Side::SendWelcome(double heartbeat_seconds, uint32_t protocol) {
  v1::CollectorMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_protocol(protocol);
  welcome.set_collector_version("0.1.0");
  welcome.set_host_name("testhost");
  welcome.set_heartbeat_seconds(heartbeat_seconds);
  return Write(message);
}

bool ScriptedCollector::Side::SendStart(int64_t task) {
  v1::CollectorMessage message;
  message.mutable_start()->set_task_id(task);
  message.mutable_start()->set_attempt(1);
  message.mutable_start()->set_workload("host.clock");
  return Write(message);
}

bool ScriptedCollector::Side::SendAck(int64_t task, uint64_t sequence) {
  v1::CollectorMessage message;
  message.mutable_ack()->set_task_id(task);
  message.mutable_ack()->set_attempt(1);
  message.mutable_ack()->set_sequence(sequence);
  return Write(message);
}

bool ScriptedCollector::Side::SendHold(double seconds) {
  v1::CollectorMessage message;
  message.mutable_hold()->set_seconds(seconds);
  message.mutable_hold()->set_reason("the database is away");
  return Write(message);
}

bool ScriptedCollector::Side::SendHeartbeat() {
  v1::CollectorMessage message;
  message.mutable_heartbeat();
  return Write(message);
}

bool ScriptedCollector::Side::SendRefusal(v1::RefusalReason reason, const std::string& text, double retry_after) {
  v1::CollectorMessage message;
  message.mutable_refusal()->set_reason(reason);
  message.mutable_refusal()->set_message(text);
  message.mutable_refusal()->set_retry_after_seconds(retry_after);
  return Write(message);
}

bool ScriptedCollector::Side::Commit(const v1::RecordBatch& batch) {
  std::map<int64_t, uint64_t> highest;
  {
    MutexLock lock(collector_.mutex_);
    collector_.largest_batch_ = std::max(collector_.largest_batch_, batch.ByteSizeLong());
    for (const v1::Record& record : batch.records()) {
      collector_.committed_.insert({{record.id().task_id(), record.id().sequence()}, record});
      highest[record.id().task_id()] = record.id().sequence();
    }
    ++collector_.changes_;
    collector_.changed_.NotifyAll();
  }
  for (const auto& [task, sequence] : highest) {
    if (!SendAck(task, sequence)) return false;
  }
  return true;
}

grpc::Status ScriptedCollector::Side::ServeNormally(double heartbeat_seconds,
                                                    const std::vector<v1::CollectorMessage>& messages,
                                                    const std::function<void(const v1::AgentMessage&)>& seen) {
  if (!ReadHello() || !SendWelcome(heartbeat_seconds)) return grpc::Status::OK;
  for (const v1::CollectorMessage& message : messages) Write(message);
  v1::AgentMessage message;
  while (Read(&message)) {
    if (message.has_records()) {
      Commit(message.records());
    } else {
      if (message.has_heartbeat()) SendHeartbeat();
      MutexLock lock(collector_.mutex_);
      collector_.received_.push_back(message);
      ++collector_.changes_;
      collector_.changed_.NotifyAll();
    }
    if (seen) seen(message);
  }
  return grpc::Status::OK;
}

}  // namespace fleetmark::agent
