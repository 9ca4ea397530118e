#include "common/units/units.h"

namespace fleetmark {
namespace {

struct NamedUnit {
  Unit unit;
  std::string_view name;
};

constexpr NamedUnit kUnits[] = {
    {Unit::kNone, ""},
    {Unit::kBytes, "bytes"},
    {Unit::kBytesPerSecond, "bytes_per_second"},
    {Unit::kOperations, "operations"},
    {Unit::kOperationsPerSecond, "operations_per_second"},
    {Unit::kSeconds, "seconds"},
    {Unit::kRatio, "ratio"},
    {Unit::kPercent, "percent"},
    {Unit::kCount, "count"},
    {Unit::kScore, "score"},
    {Unit::kHertz, "hertz"},
    {Unit::kBitsPerSecond, "bits_per_second"},
    {Unit::kCelsius, "celsius"},
};

}  // namespace

std::string_view UnitName(Unit unit) {
  for (const NamedUnit& entry : kUnits) {
    if (entry.unit == unit) return entry.name;
  }
  return "";
}

std::optional<Unit> UnitFromName(std::string_view name) {
  for (const NamedUnit& entry : kUnits) {
    if (entry.name == name) return entry.unit;
  }
  return std::nullopt;
}

std::optional<UnitFamily> UnitFamilyFromName(std::string_view name) {
  if (name == "decimal") return UnitFamily::kDecimal;
  if (name == "iec") return UnitFamily::kIec;
  return std::nullopt;
}

std::string_view DirectionText(Direction direction) {
  switch (direction) {
    case Direction::kHigherIsBetter:
      return "higher is better";
    case Direction::kLowerIsBetter:
      return "lower is better";
    case Direction::kNone:
      break;
  }
  return "";
}

}  // namespace fleetmark
