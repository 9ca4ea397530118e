// The one call of EnrollmentService, without gRPC in its interface.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/address.h"
#include "fleetmark/v1/enrollment.pb.h"

namespace fleetmark {

// `ca_pem` is the only root, and the peer must be named as a collector. Never retried: the token is good once.
absl::StatusOr<v1::EnrollResponse> CallEnroll(const Address& address, const std::string& ca_pem,
                                              const v1::EnrollRequest& request, absl::Duration timeout);

}  // namespace fleetmark
