// EnrollingFleet: an authority and an enrolment listener on loopback, and invites to it.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "collector/service/enrollment/enrollment_server.h"
#include "common/pki/join_line.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/fake_trust_store.h"

namespace fleetmark::test {

class EnrollingFleet {
 public:
  EnrollingFleet() {
    auto authority = collector::Authority::Open(state_.path(), store_);
    if (!authority.ok()) std::abort();
    authority_ = *std::move(authority);
    auto server = collector::EnrollmentServer::Start("127.0.0.1:0", authority_->server_files());
    if (!server.ok()) std::abort();
    server_ = *std::move(server);
    core_ = std::make_unique<collector::Enrollment>(
        *authority_, store_,
        collector::Enrollment::Options{.hosts = {"127.0.0.1"}, .enrollment_port = server_->port(), .main_port = 7401});
    server_->Serve(*core_);
  }
  ~EnrollingFleet() { server_->Shutdown(absl::Seconds(5)); }

  FakeTrustStore& store() { return store_; }
  collector::Authority& authority() { return *authority_; }
  collector::Enrollment& core() { return *core_; }
  uint16_t port() const { return server_->port(); }

  std::string Invite(v1::InviteKind kind = v1::INVITE_KIND_HOST) {
    v1::CreateInviteRequest request;
    request.set_kind(kind);
    request.set_person_name("anna");
    request.set_role(v1::ROLE_OPERATOR);
    return core_->CreateInvite(request, "test").value().join_line();
  }

 private:
  const TempDirectory state_;
  FakeTrustStore store_;
  std::unique_ptr<collector::Authority> authority_;
  std::unique_ptr<collector::EnrollmentServer> server_;
  std::unique_ptr<collector::Enrollment> core_;
};

}  // namespace fleetmark::test
