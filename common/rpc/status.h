// absl::Status over the wire: one table, so that the code survives in both directions.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace fleetmark {

grpc::Status ToGrpcStatus(const absl::Status& status);    // messages are cut at 2 KiB
absl::Status FromGrpcStatus(const grpc::Status& status);  // messages become clean UTF-8, and are never empty

}  // namespace fleetmark
