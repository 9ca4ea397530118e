#include "common/units/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetmark {
namespace {

struct Prefix {
  double factor;
  std::string_view text;
};

constexpr double kKibi = 1024.0;
constexpr Prefix kDecimalPrefixes[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
constexpr Prefix kIecPrefixes[] = {{1, ""},
                                   {kKibi, "Ki"},
                                   {kKibi * kKibi, "Mi"},
                                   {kKibi * kKibi * kKibi, "Gi"},
                                   {kKibi * kKibi * kKibi * kKibi, "Ti"},
                                   {kKibi * kKibi * kKibi * kKibi * kKibi, "Pi"}};
constexpr Prefix kTimePrefixes[] = {{1e-9, "n"}, {1e-6, "\xC2\xB5"}, {1e-3, "m"}, {1, ""}};
constexpr absl::Duration kLongest = absl::Hours(24 * 99);

// As printf's %.<precision>f and %.<precision>g in the C locale, whatever the locale is.
std::string Print(double value, std::chars_format format, int precision) {
  char buffer[400];  // the largest double has 309 digits
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format, precision).ptr);
}
std::string Fixed(double value, int decimals) { return Print(value, std::chars_format::fixed, decimals); }
std::string General(double value, int digits) { return Print(value, std::chars_format::general, digits); }

int DecimalsOf(double magnitude) { return magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3; }

// The largest prefix with which the rounded number is at least 1, so that 999.96 MB is 1.00 GB and not 1000.0 MB.
const Prefix& ChoosePrefix(double magnitude, std::span<const Prefix> prefixes) {
  for (size_t i = prefixes.size() - 1; i > 0; --i) {
    const double step = prefixes[i].factor / prefixes[i - 1].factor;
    // The smaller prefix shows up to step - 0.05 with its one decimal.
    if (magnitude / prefixes[i - 1].factor >= step - 0.05) return prefixes[i];
  }
  return prefixes[0];
}

std::string Digits(double value) {
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 0.0095) return General(value, 2);
  return Fixed(value, DecimalsOf(magnitude));
}

std::string WithPrefix(double value, std::span<const Prefix> prefixes, std::string_view unit, bool whole_is_short) {
  const Prefix& prefix = ChoosePrefix(std::abs(value), prefixes);
  const double scaled = value / prefix.factor;
  const bool whole = scaled == std::floor(scaled) && (whole_is_short || prefix.factor == 1);
  std::string text = whole ? Fixed(scaled, 0) : Digits(scaled);
  if (!prefix.text.empty() || !unit.empty()) text += ' ';
  text.append(prefix.text).append(unit);
  return text;
}

std::string FormatSeconds(double seconds) {
  if (std::abs(seconds) >= 999.95) {
    return absl::StrCat(seconds < 0 ? "-" : "", FormatTimeSpan(absl::Seconds(std::abs(seconds))));
  }
  if (seconds == 0) return "0 s";
  return WithPrefix(seconds, kTimePrefixes, "s", false);
}

std::string FormatPlain(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return Fixed(value, 0);
  return General(value, 6);
}

std::string Known(double value, Unit unit, UnitFamily family) {
  const std::span<const Prefix> sizes =
      family == UnitFamily::kIec ? std::span<const Prefix>(kIecPrefixes) : std::span<const Prefix>(kDecimalPrefixes);
  switch (unit) {
    case Unit::kBytes:
      return WithPrefix(value, sizes, "B", true);
    case Unit::kBytesPerSecond:
      return WithPrefix(value, sizes, "B/s", false);
    case Unit::kOperationsPerSecond:
      return WithPrefix(value, kDecimalPrefixes, "/s", false);
    case Unit::kOperations:
    case Unit::kCount:
    case Unit::kScore:
      if (std::abs(value) < 9999.5) return FormatPlain(value);
      return WithPrefix(value, kDecimalPrefixes, "", true);
    case Unit::kSeconds:
      return FormatSeconds(value);
    case Unit::kRatio:
      return Fixed(value, 3);
    case Unit::kPercent:
      return Fixed(value, 1) + " %";
    case Unit::kHertz:
      return WithPrefix(value, kDecimalPrefixes, "Hz", false);
    case Unit::kBitsPerSecond: {
      const Prefix& prefix = ChoosePrefix(std::abs(value), kDecimalPrefixes);
      return absl::StrCat(Fixed(value / prefix.factor, 1), " ", std::string(prefix.text), "bit/s");
    }
    case Unit::kCelsius:
      return Fixed(value, 1) +
             " \xC2\xB0"
             "C";
    case Unit::kNone:
      break;
  }
  return FormatPlain(value);
}

}  // namespace

std::string FormatQuantity(std::optional<double> value, Unit unit, UnitFamily family) {
  if (!value.has_value() || !std::isfinite(*value)) return kUnknownText;
  return Known(*value + 0.0, unit, family);  // + 0.0 turns -0 into 0
}

std::string FormatBoth(std::optional<double> value, Unit unit, UnitFamily first) {
  std::string text = FormatQuantity(value, unit, first);
  if (text == kUnknownText || (unit != Unit::kBytes && unit != Unit::kBytesPerSecond) || std::abs(*value) < 1000) {
    return text;
  }
  const UnitFamily second = first == UnitFamily::kDecimal ? UnitFamily::kIec : UnitFamily::kDecimal;
  return absl::StrCat(text, " (", FormatQuantity(value, unit, second), ")");
}

std::string FormatNumber(std::optional<double> value) {
  if (!value.has_value() || !std::isfinite(*value)) return "";
  char buffer[40];
  const double number = *value + 0.0;
  // Whole numbers without an exponent as far as a double is exact.
  const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
  const std::to_chars_result result = whole
                                          ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(number))
                                          : std::to_chars(buffer, buffer + sizeof buffer, number);
  return std::string(buffer, result.ptr);
}

std::string FormatRatio(std::optional<double> ratio) {
  if (!ratio.has_value() || !std::isfinite(*ratio)) return kUnknownText;
  const double magnitude = std::abs(*ratio);
  if (magnitude >= 999.5) return Fixed(*ratio, 0) + "x";
  if (magnitude >= 9.995) return Fixed(*ratio, 1) + "x";
  if (magnitude >= 0.0995 || magnitude == 0) return Fixed(*ratio, 2) + "x";
  return General(*ratio, 2) + "x";
}

std::string FormatTimeSpan(std::optional<absl::Duration> duration) {
  if (!duration.has_value() || *duration == absl::InfiniteDuration() || *duration == -absl::InfiniteDuration()) {
    return kUnknownText;
  }
  if (*duration > kLongest) return "> 99 d";
  const int64_t seconds = std::max<int64_t>(absl::ToInt64Seconds(*duration + absl::Milliseconds(500)), 0);
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) {
    return seconds % 60 == 0 ? absl::StrCat(seconds / 60, " min")
                             : absl::StrCat(seconds / 60, " min ", seconds % 60, " s");
  }
  const int64_t minutes = seconds / 60;
  constexpr int64_t kMinutesPerDay = int64_t{24} * 60;
  const int64_t hours = minutes / 60;
  if (minutes < kMinutesPerDay) {
    return minutes % 60 == 0 ? absl::StrCat(hours, " h") : absl::StrFormat("%d h %02d min", hours, minutes % 60);
  }
  return hours % 24 == 0 ? absl::StrCat(hours / 24, " d") : absl::StrFormat("%d d %02d h", hours / 24, hours % 24);
}

std::optional<absl::Duration> EstimateTimeLeft(double fraction, absl::Duration elapsed) {
  if (!(fraction >= 0.01) || elapsed < absl::Seconds(1) || elapsed == absl::InfiniteDuration()) return std::nullopt;
  if (fraction >= 1) return absl::ZeroDuration();
  return std::min(elapsed * ((1 - fraction) / fraction), kLongest);
}

std::string FormatTimestamp(absl::Time time, absl::TimeZone zone) {
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return kUnknownText;
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", time, zone);
}

std::string FormatTimestampUtc(absl::Time time) {
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return kUnknownText;
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace fleetmark
