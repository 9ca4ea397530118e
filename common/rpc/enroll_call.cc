#include "common/rpc/enroll_call.h"

#include <grpcpp/client_context.h>

#include <chrono>

#include "common/rpc/credentials.h"
#include "common/rpc/status.h"
#include "fleetmark/v1/enrollment.grpc.pb.h"

namespace fleetmark {

absl::StatusOr<v1::EnrollResponse> CallEnroll(const Address& address, const std::string& ca_pem,
                                              const v1::EnrollRequest& request, absl::Duration timeout) {
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeAnonymousChannel(ToString(address), ca_pem);
  if (!channel.ok()) return channel.status();
  const auto stub = v1::EnrollmentService::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  v1::EnrollResponse response;
  const grpc::Status status = stub->Enroll(&context, request, &response);
  if (!status.ok()) return FromGrpcStatus(status);
  return response;
}

}  // namespace fleetmark
