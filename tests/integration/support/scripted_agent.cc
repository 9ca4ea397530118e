#include "tests/integration/support/scripted_agent.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/enroll/enroll_client.h"
#include "common/histogram/histogram.h"

namespace fleetmark::collector {

ScriptedAgent::ScriptedAgent(TestCollector& fleet, std::string name) : fleet_(fleet) {
  EnrollOptions options;
  options.line = fleet.Invite(v1::INVITE_KIND_HOST);
  options.kind = IdentityKind::kHost;
  options.reported_name = name;
  options.files = {directory_ / "ca.pem", directory_ / "host.pem", directory_ / "host.key"};
  const EnrolledIdentity enrolled = Need(EnrollWithLine(options));
  id_ = enrolled.identity.id;
  name_ = enrolled.name;
  material_ = Need(LoadTlsMaterial(options.files));

  hello_.set_host_id(id_);
  hello_.set_host_name(name);
  hello_.set_boot_id("boot-" + name);
  hello_.set_session_id("session-" + name);
  hello_.set_agent_version("1.0");
  hello_.set_protocol_minimum(1);
  hello_.set_protocol_maximum(1);
  hello_.set_unix_seconds(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  *hello_.add_workloads() = Workload("host.clock", false);
  *hello_.add_workloads() = Workload("disk.profile", true);
  v1::Target& target = *hello_.mutable_inventory()->add_targets();
  target.set_name("default");
  target.set_path("/var/tmp");
  target.set_is_default(true);
  target.add_disks()->set_identity("disk-" + name);
}

ScriptedAgent::~ScriptedAgent() { Cut(); }

v1::WorkloadDescriptor ScriptedAgent::Workload(const std::string& name, bool needs_target) {
  v1::WorkloadDescriptor workload;
  workload.set_name(name);
  workload.set_version(1);
  workload.set_description("a workload of a test");
  workload.set_needs_target(needs_target);
  workload.mutable_repetition_rule()->set_exactly(3);
  v1::ParameterDescriptor& size = *workload.add_parameters();
  size.set_name("size");
  size.set_type(v1::PARAMETER_TYPE_BYTES);
  size.set_role(v1::PARAMETER_ROLE_IDENTITY);
  size.mutable_default_value()->set_number(1 << 20);
  size.set_minimum(1);
  size.set_maximum(1e12);
  v1::MetricDescriptor& metric = *workload.add_metrics();
  metric.set_name("rate");
  metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  return workload;
}

void ScriptedAgent::Connect(TestCollector& collector) {
  Cut();
  context_ = std::make_unique<grpc::ClientContext>();
  stub_ = v1::AgentService::NewStub(collector.Channel(material_));
  stream_ = stub_->Connect(context_.get());
  {
    MutexLock lock(mutex_);
    arrived_.clear();
    over_ = false;
  }
  reader_ = std::thread([this] { Read(); });
  v1::AgentMessage message;
  *message.mutable_hello() = hello_;
  Send(std::move(message));
}

bool ScriptedAgent::Join(TestCollector& collector) {
  Connect(collector);
  const std::optional<v1::CollectorMessage> first = Next();
  EXPECT_TRUE(first.has_value() && first->has_welcome()) << (first ? first->ShortDebugString() : "nothing came");
  return first.has_value() && first->has_welcome();
}

void ScriptedAgent::Cut() {
  if (!stream_) return;
  context_->TryCancel();
  reader_.join();
  stream_.reset();
  context_.reset();
  stub_.reset();
}

void ScriptedAgent::Read() {
  v1::CollectorMessage message;
  while (stream_->Read(&message)) {
    if (message.has_heartbeat()) continue;
    MutexLock lock(mutex_);
    arrived_.push_back(message);
    changed_.NotifyAll();
  }
  const grpc::Status end = stream_->Finish();
  MutexLock lock(mutex_);
  over_ = true;
  end_ = end;
  changed_.NotifyAll();
}

bool ScriptedAgent::Send(const v1::AgentMessage& message) {
  MutexLock lock(write_mutex_);
  return stream_->Write(message);
}

std::optional<v1::CollectorMessage> ScriptedAgent::Next(absl::Duration timeout) {
  const absl::Time give_up = absl::Now() + timeout;
  MutexLock lock(mutex_);
  while (arrived_.empty() && !over_ && absl::Now() < give_up) {
    changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(give_up - absl::Now()));
  }
  if (arrived_.empty()) return std::nullopt;
  v1::CollectorMessage message = std::move(arrived_.front());
  arrived_.pop_front();
  return message;
}

std::optional<v1::CollectorMessage> ScriptedAgent::Await(v1::CollectorMessage::KindCase kind, absl::Duration timeout) {
  const absl::Time give_up = absl::Now() + timeout;
  MutexLock lock(mutex_);
  for (;;) {
    const auto found = std::find_if(arrived_.begin(), arrived_.end(),
                                    [&](const v1::CollectorMessage& message) { return message.kind_case() == kind; });
    if (found != arrived_.end()) {
      v1::CollectorMessage message = std::move(*found);
      arrived_.erase(found);
      return message;
    }
    if (over_ || absl::Now() >= give_up) return std::nullopt;
    changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(give_up - absl::Now()));
  }
}

grpc::Status ScriptedAgent::AwaitEnd() {
  const absl::Time give_up = absl::Now() + absl::Seconds(15);
  MutexLock lock(mutex_);
  while (!over_ && absl::Now() < give_up) {
    changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(give_up - absl::Now()));
  }
  return over_ ? end_ : grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "the stream goes on");
}

std::vector<v1::Record> ScriptedAgent::RecordsOf(const v1::StartTask& start, int repetitions, double value) {
  std::vector<v1::Record> records;
  const auto add = [&]() -> v1::Record& {
    v1::Record& record = records.emplace_back();
    record.mutable_id()->set_task_id(start.task_id());
    record.mutable_id()->set_attempt(start.attempt());
    record.mutable_id()->set_sequence(records.size());
    record.set_agent_unix_seconds(1'700'000'000 + static_cast<double>(records.size()));
    return record;
  };
  v1::TaskStarted& started = *add().mutable_started();
  started.set_workload(start.workload());
  started.set_version(start.version());
  *started.mutable_identity_parameters() = start.parameters();
  if (!start.target().empty()) {
    started.mutable_target()->set_name(start.target());
    started.mutable_target()->set_path("/var/tmp");
    started.mutable_target()->add_disks()->set_identity("disk");
  }
  LatencyHistogram histogram;
  for (int64_t i = 1; i <= 100; ++i) histogram.Record(i * 1000);
  for (int i = 1; i <= repetitions; ++i) {
    v1::Repetition& repetition = *add().mutable_repetition();
    repetition.set_number(static_cast<uint32_t>(i));
    repetition.set_started_unix_seconds(1'700'000'000 + i);
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric("rate");
    measurement.set_unit(v1::UNIT_BYTES_PER_SECOND);
    measurement.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement.set_value(value + i);
    measurement.set_elapsed_seconds(1);
    measurement.set_latency_histogram(histogram.Serialize());
    v1::SampleBatch& samples = *add().mutable_samples();
    samples.set_metric("rate");
    samples.set_unit(v1::UNIT_BYTES_PER_SECOND);
    samples.set_repetition(static_cast<uint32_t>(i));
    samples.set_start_unix_seconds(1'700'000'000 + i);
    for (int s = 0; s < 150; ++s) {
      samples.add_offset_deltas_us(1000);
      samples.add_values(value + s);
    }
  }
  v1::TaskFinished& finished = *add().mutable_finished();
  finished.set_outcome(v1::TASK_OUTCOME_SUCCEEDED);
  finished.set_stop_reason("asked");
  finished.set_repetitions(static_cast<uint32_t>(repetitions));
  return records;
}

bool ScriptedAgent::SendRecords(const std::vector<v1::Record>& records) {
  v1::AgentMessage message;
  for (const v1::Record& record : records) *message.mutable_records()->add_records() = record;
  return Send(std::move(message));
}

bool ScriptedAgent::Accept(const v1::StartTask& start) {
  v1::AgentMessage message;
  message.mutable_accepted()->set_task_id(start.task_id());
  message.mutable_accepted()->set_attempt(start.attempt());
  return Send(std::move(message));
}

std::optional<v1::StartTask> ScriptedAgent::PerformTask(int repetitions, double value) {
  const std::optional<v1::CollectorMessage> start = Await(v1::CollectorMessage::kStart);
  EXPECT_TRUE(start.has_value()) << "no task came";
  if (!start.has_value()) return std::nullopt;
  EXPECT_TRUE(Accept(start->start()));
  const std::vector<v1::Record> records = RecordsOf(start->start(), repetitions, value);
  EXPECT_TRUE(SendRecords(records));
  for (;;) {
    const std::optional<v1::CollectorMessage> ack = Await(v1::CollectorMessage::kAck);
    EXPECT_TRUE(ack.has_value()) << "not acknowledged";
    if (!ack.has_value()) return std::nullopt;
    if (ack->ack().sequence() == records.size()) return start->start();
  }
}

bool Eventually(const std::function<bool()>& condition) {
  const absl::Time give_up = absl::Now() + absl::Seconds(15);
  while (absl::Now() < give_up) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return condition();
}

}  // namespace fleetmark::collector
