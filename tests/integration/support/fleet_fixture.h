// A collector as a whole, in this process, on loopback and a real PostgreSQL, and people who call it. What a test
// cannot do without (an invite, an enrolment, a channel) throws where it fails: GoogleTest reports that, and ends the
// test.
#pragma once

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "collector/collector.h"
#include "collector/store/types.h"
#include "common/lifecycle/stop_signal.h"
#include "common/pki/tls_files.h"
#include "fleetmark/v1/fleet.grpc.pb.h"
#include "tests/support/postgres.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::collector {

// One collector with its state directory; may be stopped and started again on the same state, database and port.
class TestCollector {
 public:
  explicit TestCollector(std::string dsn) : dsn_(std::move(dsn)) {}
  ~TestCollector();

  // Fails the test, and returns false, if it does not start.
  bool Start();
  // How long it took.
  absl::Duration Stop();
  Collector& collector() { return *collector_; }
  const std::string& address() const { return address_; }
  const std::string& dsn() const { return dsn_; }
  std::string state() const { return directory_ / "state"; }

  // Makes this a further collector of the fleet of `first`, before its first Start().
  void JoinFleetOf(TestCollector& first);

  // A person's stub: the local admin of the first collector of the fleet.
  v1::FleetService::Stub& admin();
  // A person of another role, enrolled with an invite.
  std::unique_ptr<v1::FleetService::Stub> Person(const std::string& name, v1::Role role);

  // A join line from an invite.
  std::string Invite(v1::InviteKind kind, const std::string& person = "", v1::Role role = v1::ROLE_UNSPECIFIED);

  std::shared_ptr<grpc::Channel> Channel(const TlsMaterial& material) const;
  const TlsMaterial& admin_material();

 private:
  const std::string dsn_;
  test::TempDirectory directory_;
  StopSignal stop_;
  std::unique_ptr<Collector> collector_;
  std::string address_, enroll_address_;
  TestCollector* first_ = nullptr;  // of the fleet, if this one joined
  TlsMaterial admin_material_;
  std::unique_ptr<v1::FleetService::Stub> admin_;
};

// A test with one collector.
class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(one_.Start()); }

  TestCollector one_{testing::NewDatabase()};
};

// The value, which the test cannot do without.
template <typename T>
T Need(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return *std::move(value);
}

// Calls a unary method with a deadline, as every client should; the status is what comes back.
template <typename Stub, typename Request, typename Response>
grpc::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return (stub.*method)(&context, request, &response);
}

}  // namespace fleetmark::collector
