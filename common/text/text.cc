#include "common/text/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "common/text/utf8.h"

namespace fleetmark {
namespace internal {

Utf8Char DecodeUtf8(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  const uint32_t first = at(0);
  if (first < 0x80) return {static_cast<char32_t>(first), 1, true};
  int length = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    length = 2, code = first & 0x1F, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, code = first & 0x0F, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, code = first & 0x07, smallest = 0x10000;
  } else {
    return {};
  }
  if (bytes.size() < static_cast<size_t>(length)) return {};
  for (int i = 1; i < length; ++i) {
    const uint32_t next = at(static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) return {};
    code = (code << 6) | (next & 0x3F);
  }
  if (code < smallest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {static_cast<char32_t>(code), length, true};
}

}  // namespace internal

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr char kHex[] = "0123456789abcdef";

// C0, DEL, C1, line and paragraph separators, and what turns the direction of the text around.
bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F || code == 0x061C;
}

void AppendEscaped(char32_t code, std::string& out) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code < 0x80) {
    out += "\\x";
    out += kHex[code >> 4];
    out += kHex[code & 15];
  } else {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 15];
  }
}

}  // namespace

std::string CleanUtf8(std::string_view bytes) {
  while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const internal::Utf8Char next = internal::DecodeUtf8(bytes);
    const size_t length = static_cast<size_t>(next.length);
    out += next.valid && next.code != 0 ? bytes.substr(0, length) : kReplacement;
    bytes.remove_prefix(length);
  }
  return out;
}

std::string EscapeForTerminal(std::string_view text) {
  const std::string clean = CleanUtf8(text);
  std::string out;
  out.reserve(clean.size());
  for (std::string_view rest = clean; !rest.empty();) {
    const internal::Utf8Char next = internal::DecodeUtf8(rest);
    const size_t length = static_cast<size_t>(next.length);
    if (IsControl(next.code)) {
      AppendEscaped(next.code, out);
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return out;
}

std::string NearestMatch(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return "";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  // Meant is what differs in at most a third of its letters, exchanged neighbours counting once.
  size_t best = std::max<size_t>(1, word.size() / 3);
  std::string match;
  for (const std::string& candidate : candidates) {
    const size_t rows = word.size();
    const size_t columns = candidate.size();
    if (columns > kLongestWord) continue;
    std::vector<std::vector<size_t>> distance(rows + 1, std::vector<size_t>(columns + 1));
    for (size_t i = 0; i <= rows; ++i) distance[i][0] = i;
    for (size_t j = 0; j <= columns; ++j) distance[0][j] = j;
    for (size_t i = 1; i <= rows; ++i) {
      for (size_t j = 1; j <= columns; ++j) {
        const bool equal = lower(word[i - 1]) == lower(candidate[j - 1]);
        size_t cost = distance[i - 1][j - 1] + (equal ? 0 : 1);
        cost = std::min({cost, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
        if (i > 1 && j > 1 && lower(word[i - 1]) == lower(candidate[j - 2]) &&
            lower(word[i - 2]) == lower(candidate[j - 1])) {
          cost = std::min(cost, distance[i - 2][j - 2] + 1);
        }
        distance[i][j] = cost;
      }
    }
    // Sharing no letter is no likeness, however short the words are.
    const size_t longest = std::max(rows, columns);
    if (distance[rows][columns] < longest &&
        (distance[rows][columns] < best || (match.empty() && distance[rows][columns] == best))) {
      best = distance[rows][columns];
      match = candidate;
    }
  }
  return match;
}

}  // namespace fleetmark
