// Configuration, policy and suite files: protobuf text format, read with errors a person can act on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark {

struct TextProtoOptions {
  // A field nobody knows: an error, or (false) a warning, and the rest is read.
  bool unknown_is_error = true;
};

// Reads `text` into `message`, which is cleared first and left cleared on errors. InvalidArgument has one or more
// "file:line:column: reason", separated by "; " (lines and columns from 1); an unknown field is named with the nearest
// one there is. `name` is what the file is called in messages. Warnings are appended to `warnings` if given.
absl::Status ParseTextProto(std::string_view text, std::string_view name, google::protobuf::Message& message,
                            const TextProtoOptions& options = {}, std::vector<std::string>* warnings = nullptr);

// The same for a file of at most 1 MiB. NotFound, PermissionDenied, ... as the system says, with the path.
absl::Status LoadTextProto(const std::string& path, google::protobuf::Message& message,
                           const TextProtoOptions& options = {}, std::vector<std::string>* warnings = nullptr);

}  // namespace fleetmark
