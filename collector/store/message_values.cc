#include "collector/store/message_values.h"

#include <openssl/evp.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_format.h"
#include "collector/store/sql_values.h"
#include "common/text/text.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace fleetmark::collector {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : CleanUtf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += absl::StrFormat("\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

void AppendMember(std::string& out, const std::string& name, const std::string& json) {
  if (out.size() > 1) out += ',';
  out += Quoted(name);
  out += ':';
  out += json;
}

template <typename Map>
std::string ToJson(const Map& parameters) {
  std::string out = "{";
  for (const auto& [name, value] : parameters) {
    switch (value.value_case()) {
      case v1::ParameterValue::kNumber:
        if (std::isfinite(value.number())) AppendMember(out, name, sql::FromDouble(value.number()));
        break;
      case v1::ParameterValue::kFlag:
        AppendMember(out, name, value.flag() ? "true" : "false");
        break;
      case v1::ParameterValue::kText:
        AppendMember(out, name, Quoted(value.text()));
        break;
      case v1::ParameterValue::VALUE_NOT_SET:
        break;
    }
  }
  out += '}';
  return out;
}

template <typename Into>
Into ParseJson(std::string_view json) {
  Into message;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(json), &message, options);
  if (!status.ok())
    throw std::invalid_argument("JSON in the database cannot be read: " + std::string(json.substr(0, 80)));
  return message;
}

int CleanField(Message& message, const Reflection& reflection, const FieldDescriptor& field) {
  int removed = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() != FieldDescriptor::TYPE_STRING) break;
      if (field.is_repeated()) {
        for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
          reflection.SetRepeatedString(&message, &field, i,
                                       CleanUtf8(reflection.GetRepeatedString(message, &field, i)));
        }
      } else {
        reflection.SetString(&message, &field, CleanUtf8(reflection.GetString(message, &field)));
      }
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (!field.is_repeated() && !std::isfinite(reflection.GetDouble(message, &field))) {
        reflection.ClearField(&message, &field);
        ++removed;
      }
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (field.is_repeated()) {
        for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
          removed += CleanMessage(*reflection.MutableRepeatedMessage(&message, &field, i));
        }
      } else {
        removed += CleanMessage(*reflection.MutableMessage(&message, &field));
      }
      break;
    default:
      break;
  }
  return removed;
}

}  // namespace

std::string ParametersToJson(const Parameters& parameters) { return ToJson(parameters); }
std::string ParametersToJson(const ParameterMap& parameters) { return ToJson(parameters); }

Parameters ParametersFromJson(std::string_view json) {
  Parameters parameters;
  if (json.size() <= 2) return parameters;
  const auto object = ParseJson<google::protobuf::Struct>(json);
  for (const auto& [name, value] : object.fields()) {
    v1::ParameterValue& parameter = parameters[name];
    if (value.has_number_value()) {
      parameter.set_number(value.number_value());
    } else if (value.has_bool_value()) {
      parameter.set_flag(value.bool_value());
    } else {
      parameter.set_text(value.string_value());
    }
  }
  return parameters;
}

std::string LabelsToJson(const std::map<std::string, std::string>& labels) {
  std::string out = "{";
  for (const auto& [key, value] : labels) AppendMember(out, key, Quoted(value));
  out += '}';
  return out;
}

std::string FlagsToJson(const Flags& flags) {
  std::string out = "[";
  for (const v1::Flag& flag : flags) {
    std::string object = "{";
    AppendMember(object, "name", Quoted(flag.name()));
    AppendMember(object, "evidence", Quoted(flag.evidence()));
    if (out.size() > 1) out += ',';
    out += object + "}";
  }
  out += ']';
  return out;
}

void FlagsFromJson(std::string_view json, Flags* flags) {
  if (json.size() <= 2) return;
  const auto list = ParseJson<google::protobuf::ListValue>(json);
  for (const google::protobuf::Value& value : list.values()) {
    v1::Flag* flag = flags->Add();
    const auto& fields = value.struct_value().fields();
    if (const auto name = fields.find("name"); name != fields.end()) flag->set_name(name->second.string_value());
    if (const auto evidence = fields.find("evidence"); evidence != fields.end()) {
      flag->set_evidence(evidence->second.string_value());
    }
  }
}

std::string MessageToJson(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok() || json.empty()) return "{}";
  return json;
}

std::string SerializeStable(const Message& message) {
  std::string bytes;
  bytes.reserve(message.ByteSizeLong());
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

std::string Sha256(std::string_view bytes) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                 nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  digest.resize(size);
  return digest;
}

int CleanMessage(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  int removed = 0;
  for (const FieldDescriptor* field : fields) removed += CleanField(message, reflection, *field);
  return removed;
}

}  // namespace fleetmark::collector
