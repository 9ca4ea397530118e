#include "common/units/parse.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr double kKi = 1024.0;

constexpr Suffix kSizes[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"PB", 1e15},
    {"KiB", kKi},
    {"kiB", kKi},
    {"MiB", kKi* kKi},
    {"GiB", kKi* kKi* kKi},
    {"TiB", kKi* kKi* kKi* kKi},
    {"PiB", kKi* kKi* kKi* kKi* kKi},
};
constexpr Suffix kTimes[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6}, {"\xCE\xBCs", 1e-6}, {"ms", 1e-3},
    {"s", 1},     {"min", 60},  {"h", 3600},         {"d", 86400},
};
constexpr Suffix kCounts[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr Suffix kRatios[] = {{"", 1}, {"%", 0.01}};
constexpr Suffix kPercents[] = {{"", 1}, {"%", 1}};
constexpr Suffix kFrequencies[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Suffix kBitRates[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
constexpr Suffix kTemperatures[] = {{"", 1},
                                    {"C", 1},
                                    {"\xC2\xB0"
                                     "C",
                                     1}};
constexpr Suffix kPlain[] = {{"", 1}};

struct Grammar {
  std::string_view noun;
  std::string_view hint;
  std::span<const Suffix> suffixes;
  bool per_second = false;  // "/s" may follow
};

Grammar GrammarOf(Unit unit) {
  switch (unit) {
    case Unit::kBytes:
      return {"a size", "write for example 2GiB (B, kB, MB, GB, TB or KiB, MiB, GiB, TiB)", kSizes};
    case Unit::kBytesPerSecond:
      return {"a rate", "write for example 100MB/s (B, kB, MB, GB or KiB, MiB, GiB, with /s)", kSizes, true};
    case Unit::kSeconds:
      return {"a duration", "write for example 500ms or 10min (ns, us, ms, s, min, h, d)", kTimes};
    case Unit::kOperations:
    case Unit::kCount:
    case Unit::kScore:
      return {"a count", "write for example 32 or 4k (k, M, G)", kCounts};
    case Unit::kOperationsPerSecond:
      return {"a rate", "write for example 500/s or 4k/s (k, M, G)", kCounts, true};
    case Unit::kRatio:
      return {"a ratio", "write for example 0.7 or 70%", kRatios};
    case Unit::kPercent:
      return {"a percentage", "write for example 70%", kPercents};
    case Unit::kHertz:
      return {"a frequency", "write for example 2.4GHz (Hz, kHz, MHz, GHz)", kFrequencies};
    case Unit::kBitsPerSecond:
      return {"a link rate", "write for example 6Gbit/s (bit/s, kbit/s, Mbit/s, Gbit/s)", kBitRates};
    case Unit::kCelsius:
      return {"a temperature", "write for example 45", kTemperatures};
    case Unit::kNone:
      break;
  }
  return {"a number", "write for example 12.5", kPlain};
}

// Quoted for a message: control characters and the like are left to whoever prints it; only the length is bounded.
std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  return absl::StrCat("\"", std::string(text.substr(0, kMost)), text.size() > kMost ? "...\"" : "\"");
}

absl::Status Wrong(std::string_view text, const Grammar& grammar, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not ", std::string(grammar.noun), ": ",
                                                 std::string(why), "; ", std::string(grammar.hint)));
}

}  // namespace

absl::StatusOr<double> ParseQuantity(std::string_view text, Unit unit) {
  const Grammar grammar = GrammarOf(unit);
  if (text.empty()) return Wrong(text, grammar, "it is empty");
  if (text.front() == '-') return Wrong(text, grammar, "it must not be negative");
  // from_chars also knows "inf", "nan" and a leading dot; a quantity starts with a digit.
  if (text.front() < '0' || text.front() > '9') return Wrong(text, grammar, "it must start with a digit");
  double number = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, number, std::chars_format::general);
  if (parsed.ec == std::errc::result_out_of_range) return Wrong(text, grammar, "the number is too large or too small");
  if (parsed.ec != std::errc()) return Wrong(text, grammar, "it is not a number");

  std::string_view suffix(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  const std::string_view written = suffix;
  if (suffix.size() > 1 && suffix.front() == ' ') suffix.remove_prefix(1);
  if (grammar.per_second && suffix.ends_with("/s")) suffix.remove_suffix(2);
  const Suffix* found = nullptr;
  for (const Suffix& candidate : grammar.suffixes) {
    if (candidate.text == suffix) found = &candidate;
  }
  if (found == nullptr && written.empty()) {
    if (number == 0) return 0.0;
    return Wrong(text, grammar, "it has no unit");
  }
  if (found == nullptr) return Wrong(text, grammar, absl::StrCat("unknown unit ", Quoted(written)));
  const double value = found->factor < 1 ? number / std::round(1 / found->factor) : number * found->factor;
  constexpr double kMost = 9223372036854775808.0;  // 2^63
  if (!(value < kMost)) return Wrong(text, grammar, "it is too large");
  return value;
}

absl::StatusOr<int64_t> ParseWholeQuantity(std::string_view text, Unit unit) {
  const absl::StatusOr<double> value = ParseQuantity(text, unit);
  if (!value.ok()) return value.status();
  constexpr double kMost = 9007199254740992.0;  // 2^53: beyond, a double no longer knows its units
  const double whole = std::round(*value);
  // "1.1GB" is not exact in binary; what is off by less than a billionth is meant to be whole.
  if (std::abs(*value - whole) > 1e-9 * (*value)) return Wrong(text, GrammarOf(unit), "it is not a whole number");
  if (whole > kMost) return Wrong(text, GrammarOf(unit), "it is too large");
  return static_cast<int64_t>(whole);
}

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  const absl::StatusOr<double> seconds = ParseQuantity(text, Unit::kSeconds);
  if (!seconds.ok()) return seconds.status();
  return absl::Seconds(*seconds);
}

}  // namespace fleetmark
