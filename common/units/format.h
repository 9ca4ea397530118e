// Quantities as people read them. Pure functions, independent of the locale. Unknown and non-finite values are "-",
// never 0. Text is UTF-8 ("µs", "°C"); common/render turns it into ASCII where a terminal needs that.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/units/units.h"

namespace fleetmark {

inline constexpr char kUnknownText[] = "-";

// "536.9 MB/s", "1.00 TB", "8 GiB", "12.3 µs", "51.2 k/s", "42.0 %". Sizes that are whole in their unit have no
// decimals.
std::string FormatQuantity(std::optional<double> value, Unit unit, UnitFamily family = UnitFamily::kDecimal);

// Both families for sizes and rates of bytes: "536.9 MB/s (512.0 MiB/s)"; `first` is the one outside the parentheses.
// FormatQuantity for other units.
std::string FormatBoth(std::optional<double> value, Unit unit, UnitFamily first = UnitFamily::kDecimal);

// The number alone as the shortest decimal text that reads back to the same double: for CSV and JSON. "" if unknown.
std::string FormatNumber(std::optional<double> value);

// "0.45x", "12.0x", "-".
std::string FormatRatio(std::optional<double> ratio);

// "45 s", "1 min 20 s", "2 h 05 min", "3 d 04 h"; negative is "0 s", more than 99 days "> 99 d", unknown "-".
// (Not called FormatDuration: a call with an absl::Duration would find absl's.)
std::string FormatTimeSpan(std::optional<absl::Duration> duration);

// Time left of something that is `fraction` (0..1) done after `elapsed`: absent until it can be told (less than 1 s or
// 1 % done), capped at 99 days, never negative.
std::optional<absl::Duration> EstimateTimeLeft(double fraction, absl::Duration elapsed);

// "2026-05-01 14:00:00 +02:00"; infinite times are "-". Use absl::LocalTimeZone() for the user's zone.
std::string FormatTimestamp(absl::Time time, absl::TimeZone zone);

// "2026-05-01T12:00:00.123Z", for files and JSON.
std::string FormatTimestampUtc(absl::Time time);

}  // namespace fleetmark
