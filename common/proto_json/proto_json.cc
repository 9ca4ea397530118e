#include "common/proto_json/proto_json.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

namespace fleetmark {

absl::StatusOr<std::string> RenderProtoJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
#if GOOGLE_PROTOBUF_VERSION >= 5026000
  options.always_print_fields_with_no_presence = true;
#else
  options.always_print_primitive_fields = true;
#endif
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return absl::InternalError("cannot write the answer as JSON: " + std::string(status.message()));
  return text;
}

}  // namespace fleetmark
