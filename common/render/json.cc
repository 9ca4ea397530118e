#include "common/render/json.h"

#include <cmath>

#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark {

std::string JsonQuote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  const std::string clean = CleanUtf8(text);
  std::string out = "\"";
  for (size_t i = 0; i < clean.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(clean[i]);
    const std::string_view three = std::string_view(clean).substr(i, 3);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += clean[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&') {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else if (three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9") {
      out += three.back() == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += clean[i];
    }
  }
  return out + '"';
}

void JsonWriter::BeforeValue() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::BeginObject() {
  BeforeValue();
  text_ += '{';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  text_ += '}';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeforeValue();
  text_ += '[';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  text_ += ']';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  BeforeValue();
  text_ += JsonQuote(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view value) {
  BeforeValue();
  text_ += JsonQuote(value);
  return *this;
}

JsonWriter& JsonWriter::Number(std::optional<double> value) {
  const std::string number = FormatNumber(value);
  BeforeValue();
  text_ += number.empty() ? "null" : number;
  return *this;
}

JsonWriter& JsonWriter::Integer(long long value) {
  BeforeValue();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_ += "null";
  return *this;
}

std::string RenderJsonError(const absl::Status& status, int exit_code) {
  JsonWriter json;
  json.BeginObject().Key("error").BeginObject();
  json.Key("code").String(absl::StatusCodeToString(status.code()));
  json.Key("message").String(std::string(status.message()));
  json.Key("exit_code").Integer(exit_code);
  json.EndObject().EndObject();
  return json.text() + "\n";
}

}  // namespace fleetmark
