// Unit, UnitFamily and Direction: what a number means. Every measured value carries a Unit, every metric a Direction.
// Values are always in base units (bytes, seconds, ...); only the text has prefixes.
#pragma once

#include <optional>
#include <string_view>

namespace fleetmark {

enum class Unit {
  kNone,                 // a plain number; also what a name nobody knows becomes
  kBytes,                // "bytes"
  kBytesPerSecond,       // "bytes_per_second"
  kOperations,           // "operations"
  kOperationsPerSecond,  // "operations_per_second"
  kSeconds,              // "seconds"
  kRatio,                // "ratio": 0.05 is five percent
  kPercent,              // "percent": 5 is five percent
  kCount,                // "count"
  kScore,                // "score"
  kHertz,                // "hertz"
  kBitsPerSecond,        // "bits_per_second": links only; always decimal
  kCelsius,              // "celsius"
};

// Which prefixes a size is shown with: 1 MB = 1 000 000 B, or 1 MiB = 1 048 576 B.
enum class UnitFamily { kDecimal, kIec };

// Which way is better. There is no default: a metric without a direction (kNone) gets no verdict.
enum class Direction { kNone, kHigherIsBetter, kLowerIsBetter };

// The name used in JSON, CSV columns, the database and on the wire; "" for kNone.
std::string_view UnitName(Unit unit);
// The reverse; absent for a name that is not ours. "" is kNone.
std::optional<Unit> UnitFromName(std::string_view name);

// "decimal" and "iec", as --units takes them.
std::optional<UnitFamily> UnitFamilyFromName(std::string_view name);

// "higher is better", "lower is better", "".
std::string_view DirectionText(Direction direction);

}  // namespace fleetmark
