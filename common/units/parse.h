// Quantities as people type them: "2GiB", "4k", "1.5 MB", "250ms", "70%". Pure functions, independent of the locale.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/units/units.h"

namespace fleetmark {

// The value in base units; finite and never negative. What may follow the number (with or without one space):
//   bytes, bytes/s   B, kB KB MB GB TB (decimal), KiB MiB GiB TiB (binary), for rates with "/s"; nothing means bytes
//   seconds          ns us µs ms s min h; nothing is an error, except for 0
//   operations, counts, scores, operations/s   k M G (decimal), for rates with or without "/s"
//   ratio, percent   "%" or nothing: "70%" is the ratio 0.7 and the percent 70
//   hertz            Hz kHz MHz GHz; bits/s: bit/s kbit/s Mbit/s Gbit/s
// Refused: hexadecimal, "inf", "nan", signs, a bare exponent's overflow ("1e308GB"), values above 2^63, anything after
// the unit. The error is InvalidArgument and quotes what was given and what would be right.
absl::StatusOr<double> ParseQuantity(std::string_view text, Unit unit);

// The same for values that must be whole ("1.5kB" is 1500, "0.3B" is refused) and at most 2^53.
absl::StatusOr<int64_t> ParseWholeQuantity(std::string_view text, Unit unit);

// ParseQuantity in seconds as a Duration: "250ms", "5min".
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

}  // namespace fleetmark
