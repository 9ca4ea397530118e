// JSON for what is not a protobuf message: errors made locally. Everything else is protobuf JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fleetmark {

// A JSON string with its quotes. Invalid UTF-8 becomes U+FFFD; "<", ">", "&" and U+2028/2029 are escaped, so that the
// result may also stand inside <script>.
std::string JsonQuote(std::string_view text);

// Builds one JSON text, commas and nesting done. REQUIRES: calls that form valid JSON (Key before each value in an
// object; every Begin ended).
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view name);
  JsonWriter& String(std::string_view value);
  JsonWriter& Number(std::optional<double> value);  // null if unknown or not finite
  JsonWriter& Integer(long long value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  const std::string& text() const { return text_; }

 private:
  void BeforeValue();
  std::string text_;
  bool needs_comma_ = false;
};

// {"error":{"code":"NOT_FOUND","message":"...","exit_code":4}} and a newline.
std::string RenderJsonError(const absl::Status& status, int exit_code);

}  // namespace fleetmark
