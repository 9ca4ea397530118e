#include "collector/store/sql_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "absl/strings/charconv.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace sql {
namespace {

template <typename T, typename Append>
std::string Array(const std::vector<T>& values, Append append) {
  std::string out = "{";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    append(out, values[i]);
  }
  out += '}';
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw std::invalid_argument("bytea is not in hex format");
}

}  // namespace

std::string FromText(std::string_view text) {
  for (const char c : text) {
    if (c == '\0' || static_cast<unsigned char>(c) >= 0x80) return CleanUtf8(text);
  }
  return std::string(text);
}

std::string FromDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> buffer;
  const std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::string FromBytes(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 + 2 * bytes.size());
  out = "\\x";
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string ToBytes(std::string_view hex) {
  if (hex.substr(0, 2) != "\\x" || hex.size() % 2 != 0) throw std::invalid_argument("bytea is not in hex format");
  std::string out;
  out.reserve(hex.size() / 2 - 1);
  for (size_t i = 2; i < hex.size(); i += 2) {
    out += static_cast<char>(HexDigit(hex[i]) << 4 | HexDigit(hex[i + 1]));
  }
  return out;
}

std::string FromTime(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M:%E6S+00", time, absl::UTCTimeZone()); }

std::string FromTextArray(const std::vector<std::string>& values) {
  return Array(values, [](std::string& out, const std::string& value) {
    out += '"';
    for (const char c : FromText(value)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  });
}

std::string FromNumberArray(const std::vector<int64_t>& values) {
  return Array(values, [](std::string& out, int64_t value) { out += std::to_string(value); });
}

std::string FromDoubleArray(const std::vector<double>& values) {
  return Array(values, [](std::string& out, double value) { out += FromDouble(value); });
}

}  // namespace sql

std::string_view Row::View(int column) const {
  if (IsNull(column)) throw std::invalid_argument("column " + std::to_string(column) + " is NULL");
  return cells_[column];
}

int64_t Row::Int64(int column) const {
  const std::string_view text = View(column);
  int64_t value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    throw std::invalid_argument("not a whole number: " + std::string(text));
  }
  return value;
}

double Row::Double(int column) const {
  const std::string_view text = View(column);
  double value = 0;
  const absl::from_chars_result end = absl::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    throw std::invalid_argument("not a number: " + std::string(text));
  }
  return value;
}

std::optional<int64_t> Row::MaybeInt64(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Int64(column);
}

std::optional<double> Row::MaybeDouble(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Double(column);
}

}  // namespace fleetmark::collector
