// Enrollment: invites, and the admission of those who bring one. No gRPC; see enrollment_server.h for the listener.
//
// Owned by the collector. Thread-safe; both calls block on the database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/pki/authority.h"
#include "collector/service/enrollment/rate_limiter.h"
#include "fleetmark/v1/enrollment.pb.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::collector {

class Enrollment {
 public:
  struct Options {
    std::vector<std::string> hosts;  // how others reach this machine: IP addresses and names (see advertise.h)
    uint16_t enrollment_port = 0;
    uint16_t main_port = 0;
    RateLimiter::Options limits = {};
  };

  Enrollment(Authority& authority, TrustStore& store, Options options, const Clock& clock = SystemClock());

  // `who` is for the audit trail. INVALID_ARGUMENT: kind, name, role, validity (1 minute to 30 days) or an extra
  // address with a port. FAILED_PRECONDITION: this collector does not hold the CA's key.
  absl::StatusOr<v1::CreateInviteResponse> CreateInvite(const v1::CreateInviteRequest& request, const std::string& who);

  // `peer` is the network address of the caller, without its port. RESOURCE_EXHAUSTED: too many failures lately, from
  // this peer or in total. PERMISSION_DENIED: token unknown, used or expired.
  absl::StatusOr<v1::EnrollResponse> Enroll(const v1::EnrollRequest& request, const std::string& peer);

 private:
  Authority& authority_;
  TrustStore& store_;
  const Options options_;
  const Clock& clock_;
  RateLimiter limiter_;
};

}  // namespace fleetmark::collector
