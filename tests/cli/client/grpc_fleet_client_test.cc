// What a person is told when a collector answers, but not what was asked: real gRPC over TLS on loopback.
#include "cli/client/grpc_fleet_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/enroll/enroll_client.h"
#include "common/lifecycle/stop_signal.h"
#include "tests/common/rpc/fleet_server.h"
#include "tests/support/temp_directory.h"
#include "tests/support/trust/enrolling_fleet.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GrpcFleetClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<FleetClient> ClientOf(const std::vector<std::string>& collectors) {
    return *MakeFleetClient({collectors, fleet_.Person("admin")});
  }

  const test::TestFleet fleet_;
};

// A collector of another version: of all calls it knows GetStatus, and gives the caller's name for its version.
TEST_F(GrpcFleetClientTest, ACallThatTheCollectorDoesNotKnowNamesBothVersions) {
  const test::FleetServer other(ServerCredentials(fleet_.Collector()));
  const std::unique_ptr<FleetClient> client = ClientOf({other.address()});
  v1::ListHostsResponse hosts;
  const absl::Status status = client->Call(v1::ListHostsRequest(), hosts);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(other.address()), HasSubstr("is of version urn:fleetmark:person:admin:anna"),
                    HasSubstr("this program of "), HasSubstr("bring both to the same version")));
  StopSignal stop;
  EXPECT_EQ(client->WatchRun({}, stop, [](const v1::WatchRunResponse*) {}), status);
}

TEST(EnrolmentPortTest, IsNamedWhereTheMainOneIsMeant) {
  test::EnrollingFleet fleet;
  const test::TempDirectory directory;
  EnrollOptions options;
  options.line = fleet.Invite(v1::INVITE_KIND_PERSON);
  options.kind = IdentityKind::kPerson;
  options.files = PersonFiles(directory.path());
  ASSERT_TRUE(EnrollWithLine(options).ok());
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(options.files);
  ASSERT_TRUE(material.ok()) << material.status();
  const std::string address = absl::StrCat("127.0.0.1:", fleet.port());
  v1::ListHostsResponse hosts;
  const absl::Status status = (*MakeFleetClient({{address}, *material}))->Call(v1::ListHostsRequest(), hosts);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(address), HasSubstr("enrolment port"), HasSubstr("7401")));
}

TEST_F(GrpcFleetClientTest, TheNextCollectorIsAskedIfOneIsNotThere) {
  const test::FleetServer server(ServerCredentials(fleet_.Collector()));
  v1::GetStatusResponse response;
  const absl::Status status = ClientOf({"127.0.0.1:1", server.address()})->Call(v1::GetStatusRequest(), response);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.version(), "urn:fleetmark:person:admin:anna");
}

}  // namespace
}  // namespace fleetmark::cli
