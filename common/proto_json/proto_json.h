// Protobuf JSON, the public JSON of all programs: field names as in the .proto files, absent means unknown, fields
// without presence are always printed (false, 0, []), maps in the order of their keys.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark {

// Indented, ending in a newline. Fails only on text that is not UTF-8.
absl::StatusOr<std::string> RenderProtoJson(const google::protobuf::Message& message);

}  // namespace fleetmark
