#include "common/proto_json/proto_json.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <memory>

namespace fleetmark {
namespace {

constexpr char kUrl[] = "type.googleapis.com";

// Of all types that are compiled in.
google::protobuf::util::TypeResolver* Types() {
  static auto* resolver = google::protobuf::util::NewTypeResolverForDescriptorPool(
      kUrl, google::protobuf::DescriptorPool::generated_pool());
  return resolver;
}

// With maps in the order of their keys, which a hash table does not have.
std::string Serialize(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

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
  const std::string type = std::string(kUrl) + "/" + std::string(message.GetDescriptor()->full_name());
  const auto status = google::protobuf::util::BinaryToJsonString(Types(), type, Serialize(message), &text, options);
  if (!status.ok()) return absl::InternalError("cannot write the answer as JSON: " + std::string(status.message()));
  return text;
}

}  // namespace fleetmark
