// Length-delimited messages over a pipe: a varint with the length, then the bytes. Used at both ends of the worker's
// pipes. No thread rule of its own: one reader and one writer per descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace google::protobuf {
class MessageLite;
}

namespace fleetmark::agent {

inline constexpr size_t kLargestFrame = size_t{64} << 20;

// Writes all of it, blocking. Unavailable: the reader is gone (SIGPIPE must be ignored). InvalidArgument: too large.
absl::Status WriteFrame(int fd, const google::protobuf::MessageLite& message);

// Cuts a stream of bytes, in whatever pieces it arrives, into messages.
class FrameReader {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }

  // True: `message` is the next one. False: more bytes are needed. DataLoss: the stream is not one of ours; it stays
  // unusable.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite& message);

  // True if no started message is left over.
  bool AtBoundary() const { return position_ == buffer_.size(); }

 private:
  std::string buffer_;
  size_t position_ = 0;
};

// Reads what there is (at least a byte, blocking unless the descriptor does not) into `reader`. False at end of file.
// Unavailable: nothing there just now (non-blocking descriptors only).
absl::StatusOr<bool> ReadInto(int fd, FrameReader& reader);

}  // namespace fleetmark::agent
