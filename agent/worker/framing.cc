#include "agent/worker/framing.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message_lite.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kMostLengthBytes = 5;  // of a varint up to 2^35

std::string EncodeLength(size_t length) {
  std::string bytes;
  while (length >= 0x80) {
    bytes.push_back(static_cast<char>((length & 0x7f) | 0x80));
    length >>= 7;
  }
  bytes.push_back(static_cast<char>(length));
  return bytes;
}

absl::Status WriteBytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return absl::UnavailableError("write to the worker's pipe: the other end is closed");
    } else if (errno != EINTR) {
      return absl::InternalError(absl::StrCat("write to the worker's pipe: ", strerror(errno)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteFrame(int fd, const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  if (body.size() > kLargestFrame) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", body.size(), " bytes is too large for the worker's pipe"));
  }
  // One write for small messages: the reader wakes once.
  return WriteBytes(fd, EncodeLength(body.size()) + body);
}

absl::StatusOr<bool> FrameReader::Next(google::protobuf::MessageLite& message) {
  uint64_t length = 0;
  size_t used = 0;
  for (bool more = true; more; ++used) {
    if (used == kMostLengthBytes) return absl::DataLossError("the worker's pipe carries something else than messages");
    if (position_ + used >= buffer_.size()) return false;
    const auto byte = static_cast<uint8_t>(buffer_[position_ + used]);
    length |= static_cast<uint64_t>(byte & 0x7f) << (7 * used);
    more = (byte & 0x80) != 0;
  }
  if (length > kLargestFrame) {
    return absl::DataLossError(absl::StrCat("the worker's pipe announces a message of ", length, " bytes"));
  }
  if (buffer_.size() - position_ - used < length) return false;
  if (!message.ParseFromArray(buffer_.data() + position_ + used, static_cast<int>(length))) {
    return absl::DataLossError("the worker's pipe carries a message that cannot be read");
  }
  position_ += used + length;
  if (position_ == buffer_.size() || position_ > (size_t{1} << 20)) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  return true;
}

absl::StatusOr<bool> ReadInto(int fd, FrameReader& reader) {
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) {
      reader.Append(std::string_view(buffer, static_cast<size_t>(count)));
      return true;
    }
    if (count == 0) return false;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return absl::UnavailableError("nothing to read");
    if (errno != EINTR) return absl::InternalError(absl::StrCat("read from the worker's pipe: ", strerror(errno)));
  }
}

}  // namespace fleetmark::agent
