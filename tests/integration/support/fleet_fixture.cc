#include "tests/integration/support/fleet_fixture.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/pki/authority.h"
#include "common/enroll/enroll_client.h"
#include "common/rpc/credentials.h"

namespace fleetmark::collector {

TestCollector::~TestCollector() { Stop(); }

bool TestCollector::Start() {
  CollectorOptions options;
  options.state_directory = state();
  options.config_directory = directory_ / "config";
  options.listen = address_.empty() ? "127.0.0.1:0" : address_;
  options.enroll_listen = enroll_address_.empty() ? "127.0.0.1:0" : enroll_address_;
  options.database = dsn_;
  options.version = "test";
  absl::StatusOr<std::unique_ptr<Collector>> started = Collector::Start(options, stop_);
  EXPECT_TRUE(started.ok()) << started.status();
  if (!started.ok()) return false;
  collector_ = *std::move(started);
  address_ = collector_->address();
  enroll_address_ = collector_->enroll_address();
  return true;
}

absl::Duration TestCollector::Stop() {
  if (!collector_) return absl::ZeroDuration();
  const absl::Time begin = absl::Now();
  const absl::Status stopped = collector_->Shutdown(absl::Seconds(8));
  EXPECT_TRUE(stopped.ok()) << stopped;
  const absl::Duration took = absl::Now() - begin;
  collector_.reset();
  return took;
}

void TestCollector::JoinFleetOf(TestCollector& first) {
  first_ = &first;
  EnrollOptions options;
  options.line = first.Invite(v1::INVITE_KIND_COLLECTOR);
  options.kind = IdentityKind::kCollector;
  options.reported_name = "second";
  options.files = ServerFiles(state());
  Need(EnrollWithLine(options));
}

const TlsMaterial& TestCollector::admin_material() {
  if (first_ != nullptr) return first_->admin_material();
  if (admin_material_.ca_pem.empty()) {
    admin_material_ = Need(LoadTlsMaterial(
        {directory_ / "config/ca.pem", directory_ / "config/client.pem", directory_ / "config/client.key"}));
  }
  return admin_material_;
}

std::shared_ptr<grpc::Channel> TestCollector::Channel(const TlsMaterial& material) const {
  return Need(MakeChannel(address_, material));
}

v1::FleetService::Stub& TestCollector::admin() {
  if (!admin_) admin_ = v1::FleetService::NewStub(Channel(admin_material()));
  return *admin_;
}

std::string TestCollector::Invite(v1::InviteKind kind, const std::string& person, v1::Role role) {
  v1::CreateInviteRequest request;
  request.set_kind(kind);
  request.set_person_name(person);
  request.set_role(role);
  v1::CreateInviteResponse response;
  const grpc::Status status = Call(admin(), &v1::FleetService::Stub::CreateInvite, request, response);
  if (!status.ok()) throw std::runtime_error("no invite: " + status.error_message());
  return response.join_line();
}

std::unique_ptr<v1::FleetService::Stub> TestCollector::Person(const std::string& name, v1::Role role) {
  EnrollOptions options;
  options.line = Invite(v1::INVITE_KIND_PERSON, name, role);
  options.kind = IdentityKind::kPerson;
  options.reported_name = name;
  const std::string base = directory_ / absl::StrCat("person-", name);
  options.files = {base + "/ca.pem", base + "/client.pem", base + "/client.key"};
  Need(EnrollWithLine(options));
  return v1::FleetService::NewStub(Channel(Need(LoadTlsMaterial(options.files))));
}

}  // namespace fleetmark::collector
