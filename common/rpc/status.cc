#include "common/rpc/status.h"

#include <string>
#include <utility>

#include "common/text/text.h"

namespace fleetmark {
namespace {

constexpr size_t kMostMessageBytes = 2048;

constexpr std::pair<absl::StatusCode, grpc::StatusCode> kCodes[] = {
    {absl::StatusCode::kOk, grpc::StatusCode::OK},
    {absl::StatusCode::kCancelled, grpc::StatusCode::CANCELLED},
    {absl::StatusCode::kUnknown, grpc::StatusCode::UNKNOWN},
    {absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT},
    {absl::StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED},
    {absl::StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND},
    {absl::StatusCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS},
    {absl::StatusCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED},
    {absl::StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED},
    {absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED},
    {absl::StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION},
    {absl::StatusCode::kAborted, grpc::StatusCode::ABORTED},
    {absl::StatusCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE},
    {absl::StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED},
    {absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL},
    {absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE},
    {absl::StatusCode::kDataLoss, grpc::StatusCode::DATA_LOSS},
};

std::string NameOf(grpc::StatusCode code) {
  for (const auto& [ours, theirs] : kCodes) {
    if (theirs == code) return absl::StatusCodeToString(ours);
  }
  return std::to_string(static_cast<int>(code));
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message().data(), status.message().size());
  if (message.size() > kMostMessageBytes) {
    size_t end = kMostMessageBytes - 3;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
    message = message.substr(0, end) + "...";
  }
  for (const auto& [ours, theirs] : kCodes) {
    if (ours == status.code()) return grpc::Status(theirs, message);
  }
  return grpc::Status(grpc::StatusCode::UNKNOWN, message);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  std::string message = CleanUtf8(status.error_message());
  // gRPC itself answers an unknown call without a word.
  if (message.empty()) message = "no reason was given (" + NameOf(status.error_code()) + ")";
  for (const auto& [ours, theirs] : kCodes) {
    if (theirs == status.error_code()) return absl::Status(ours, message);
  }
  return absl::UnknownError(message);
}

}  // namespace fleetmark
