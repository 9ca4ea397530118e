// Decoding UTF-8, one character at a time. Private to common/text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fleetmark::internal {

struct Utf8Char {
  char32_t code = 0;
  int length = 1;      // bytes; 1 if not valid
  bool valid = false;  // shortest form, no surrogate, at most U+10FFFF
};

// The character at the start of `bytes`, which is not empty.
Utf8Char DecodeUtf8(std::string_view bytes);

}  // namespace fleetmark::internal
