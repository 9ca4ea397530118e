#include "common/render/ascii.h"

#include <cstddef>

namespace fleetmark::internal {
namespace {

struct Replacement {
  std::string_view from;
  std::string_view to;
};

constexpr Replacement kReplacements[] = {
    {"\xC2\xB5", "u"},        // micro sign
    {"\xCE\xBC", "u"},        // mu
    {"\xC2\xB0", ""},         // degree
    {"\xC2\xB1", "+-"},       // plus-minus
    {"\xC3\x97", "x"},        // times
    {"\xC2\xA0", " "},        // no-break space
    {"\xC2\xB7", "."},        // middle dot
    {"\xE2\x80\x93", "-"},    // en dash
    {"\xE2\x80\x94", "-"},    // em dash
    {"\xE2\x80\x99", "'"},    // apostrophe
    {"\xE2\x80\xA6", "..."},  // ellipsis
    {"\xE2\x86\x92", "->"},   // arrow
    {"\xE2\x89\xA4", "<="},  {"\xE2\x89\xA5", ">="},
};

}  // namespace

std::string ToAscii(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    std::string_view replacement = "?";
    size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
    for (const Replacement& entry : kReplacements) {
      if (text.substr(0, length) == entry.from) replacement = entry.to;
    }
    out += replacement;
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace fleetmark::internal
