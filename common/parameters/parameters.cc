#include "common/parameters/parameters.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text/text.h"
#include "common/units/format.h"
#include "common/units/parse.h"

namespace fleetmark {
namespace {

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53

bool IsNumeric(v1::ParameterType type) {
  return type == v1::PARAMETER_TYPE_BYTES || type == v1::PARAMETER_TYPE_COUNT || type == v1::PARAMETER_TYPE_SECONDS ||
         type == v1::PARAMETER_TYPE_RATIO;
}

bool IsWhole(v1::ParameterType type) { return type == v1::PARAMETER_TYPE_BYTES || type == v1::PARAMETER_TYPE_COUNT; }

absl::Status Invalid(const v1::ParameterDescriptor& descriptor, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("parameter ", descriptor.name(), ": ", problem));
}

v1::ParameterValue NumberValue(double number) {
  v1::ParameterValue value;
  value.set_number(number);
  return value;
}

std::string FormatByType(v1::ParameterType type, double number) {
  switch (type) {
    case v1::PARAMETER_TYPE_BYTES: {
      // Only the largest binary unit in which the size is whole reads back to the same number.
      const auto bytes = static_cast<uint64_t>(std::max(0.0, number));
      constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
      int power = 0;
      uint64_t rest = bytes;
      while (rest != 0 && rest % 1024 == 0 && power < 4) {
        rest /= 1024;
        ++power;
      }
      return absl::StrCat(rest, " ", kUnits[power]);
    }
    case v1::PARAMETER_TYPE_SECONDS:
      return FormatNumber(number) + " s";
    default:
      return FormatNumber(number);
  }
}

std::string RangeText(const v1::ParameterDescriptor& descriptor) {
  const auto text = [&](double bound) { return FormatByType(descriptor.type(), bound); };
  if (descriptor.has_minimum() && descriptor.has_maximum()) {
    return absl::StrCat("between ", text(descriptor.minimum()), " and ", text(descriptor.maximum()));
  }
  if (descriptor.has_minimum()) return absl::StrCat("at least ", text(descriptor.minimum()));
  return absl::StrCat("at most ", text(descriptor.maximum()));
}

absl::Status CheckNumber(const v1::ParameterDescriptor& descriptor, double number) {
  if (!std::isfinite(number)) return Invalid(descriptor, "is not a finite number");
  if (IsWhole(descriptor.type()) && (number != std::floor(number) || std::fabs(number) > kLargestWhole)) {
    return Invalid(descriptor, absl::StrCat(FormatNumber(number), " is not a whole number below 2^53"));
  }
  if (number < 0 && !descriptor.has_minimum()) {
    return Invalid(descriptor, absl::StrCat(FormatNumber(number), " is negative"));
  }
  if ((descriptor.has_minimum() && number < descriptor.minimum()) ||
      (descriptor.has_maximum() && number > descriptor.maximum())) {
    return Invalid(descriptor, absl::StrCat(FormatByType(descriptor.type(), number), " is out of range; it must be ",
                                            RangeText(descriptor)));
  }
  if (descriptor.has_multiple_of() && descriptor.multiple_of() > 0 &&
      std::fmod(number, descriptor.multiple_of()) != 0) {
    return Invalid(descriptor, absl::StrCat(FormatByType(descriptor.type(), number), " is not a multiple of ",
                                            FormatByType(descriptor.type(), descriptor.multiple_of())));
  }
  return absl::OkStatus();
}

// What a descriptor says of two parameters together. One that is derived from the machine is not known yet: the
// workload checks it.
absl::Status CheckRelations(const v1::WorkloadDescriptor& workload, const ParameterMap& values) {
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    if (parameter.below().empty()) continue;
    const absl::StatusOr<const v1::ParameterDescriptor*> other = FindParameter(workload, parameter.below());
    const auto lower = values.find(parameter.name());
    const auto upper = values.find(parameter.below());
    if (!other.ok() || lower == values.end() || upper == values.end()) continue;
    if (lower->second.number() < upper->second.number()) continue;
    return absl::InvalidArgumentError(absl::StrCat(workload.name(), ": ", parameter.name(), " (",
                                                   FormatParameter(parameter, lower->second), ") must be below ",
                                                   parameter.below(), " (", FormatParameter(**other, upper->second),
                                                   "); set one of them, as in --set ", parameter.below(), "=..."));
  }
  return absl::OkStatus();
}

absl::Status CheckChoice(const v1::ParameterDescriptor& descriptor, const std::string& text) {
  const std::vector<std::string> choices(descriptor.choices().begin(), descriptor.choices().end());
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return absl::OkStatus();
  std::string problem = absl::StrCat("\"", EscapeForTerminal(TruncateToWidth(EscapeForTerminal(text), 60)),
                                     "\" is not one of ", absl::StrJoin(choices, ", "));
  const std::string nearest = NearestMatch(text, choices);
  if (!nearest.empty()) absl::StrAppend(&problem, "; did you mean ", nearest, "?");
  return Invalid(descriptor, problem);
}

const char* TypeText(v1::ParameterType type) {
  switch (type) {
    case v1::PARAMETER_TYPE_FLAG:
      return "true or false";
    case v1::PARAMETER_TYPE_CHOICE:
      return "a choice";
    default:
      return "a number";
  }
}

std::optional<bool> ParseFlag(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return std::nullopt;
}

absl::StatusOr<double> ParseByType(v1::ParameterType type, std::string_view text) {
  switch (type) {
    case v1::PARAMETER_TYPE_BYTES: {
      const absl::StatusOr<int64_t> bytes = ParseWholeQuantity(text, Unit::kBytes);
      if (!bytes.ok()) return bytes.status();
      return static_cast<double>(*bytes);
    }
    case v1::PARAMETER_TYPE_COUNT: {
      const absl::StatusOr<int64_t> count = ParseWholeQuantity(text, Unit::kCount);
      if (!count.ok()) return count.status();
      return static_cast<double>(*count);
    }
    case v1::PARAMETER_TYPE_SECONDS:
      return ParseQuantity(text, Unit::kSeconds);
    default:
      return ParseQuantity(text, Unit::kRatio);
  }
}

bool SameValue(const v1::ParameterValue& a, const v1::ParameterValue& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

absl::Status CheckParameter(const v1::ParameterDescriptor& descriptor, const v1::ParameterValue& value) {
  const auto wrong_type = [&] { return Invalid(descriptor, absl::StrCat("must be ", TypeText(descriptor.type()))); };
  if (IsNumeric(descriptor.type())) {
    if (value.value_case() != v1::ParameterValue::kNumber) return wrong_type();
    return CheckNumber(descriptor, value.number());
  }
  if (descriptor.type() == v1::PARAMETER_TYPE_FLAG) {
    return value.value_case() == v1::ParameterValue::kFlag ? absl::OkStatus() : wrong_type();
  }
  if (descriptor.type() == v1::PARAMETER_TYPE_CHOICE) {
    if (value.value_case() != v1::ParameterValue::kText) return wrong_type();
    return CheckChoice(descriptor, value.text());
  }
  return Invalid(descriptor, "is of a type this program does not know");
}

absl::StatusOr<v1::ParameterValue> ParseParameter(const v1::ParameterDescriptor& descriptor, std::string_view text) {
  v1::ParameterValue value;
  if (IsNumeric(descriptor.type())) {
    const absl::StatusOr<double> number = ParseByType(descriptor.type(), text);
    if (!number.ok()) return Invalid(descriptor, EscapeForTerminal(std::string(number.status().message())));
    value = NumberValue(*number);
  } else if (descriptor.type() == v1::PARAMETER_TYPE_FLAG) {
    const std::optional<bool> flag = ParseFlag(text);
    if (!flag.has_value()) {
      return Invalid(descriptor,
                     absl::StrCat("\"", EscapeForTerminal(std::string(text)), "\" is neither true nor false"));
    }
    value.set_flag(*flag);
  } else {
    value.set_text(CleanUtf8(text));
  }
  const absl::Status valid = CheckParameter(descriptor, value);
  if (!valid.ok()) return valid;
  return value;
}

std::string FormatParameter(const v1::ParameterDescriptor& descriptor, const v1::ParameterValue& value) {
  if (value.value_case() == v1::ParameterValue::kNumber) return FormatByType(descriptor.type(), value.number());
  return FormatParameterValue(value);
}

std::string FormatParameterValue(const v1::ParameterValue& value) {
  switch (value.value_case()) {
    case v1::ParameterValue::kNumber:
      return FormatNumber(value.number());
    case v1::ParameterValue::kFlag:
      return value.flag() ? "true" : "false";
    case v1::ParameterValue::kText:
      return value.text();
    case v1::ParameterValue::VALUE_NOT_SET:
      break;
  }
  return kUnknownText;
}

absl::StatusOr<const v1::ParameterDescriptor*> FindParameter(const v1::WorkloadDescriptor& workload,
                                                             std::string_view name) {
  std::vector<std::string> names;
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    if (parameter.name() == name) return &parameter;
    names.push_back(parameter.name());
  }
  std::string message = absl::StrCat("workload ", workload.name(), " has no parameter \"",
                                     EscapeForTerminal(TruncateToWidth(EscapeForTerminal(name), 60)), "\"");
  const std::string nearest = NearestMatch(name, names);
  if (!nearest.empty()) {
    absl::StrAppend(&message, "; did you mean ", nearest, "?");
  } else if (!names.empty()) {
    absl::StrAppend(&message, "; it has ", absl::StrJoin(names, ", "));
  }
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<ParameterMap> ResolveParameters(const v1::WorkloadDescriptor& workload, const ParameterMap& given) {
  for (const auto& [name, value] : given) {
    const absl::StatusOr<const v1::ParameterDescriptor*> descriptor = FindParameter(workload, name);
    if (!descriptor.ok()) return descriptor.status();
    const absl::Status valid = CheckParameter(**descriptor, value);
    if (!valid.ok())
      return absl::InvalidArgumentError(absl::StrCat(workload.name(), ": ", std::string(valid.message())));
  }
  ParameterMap resolved = given;
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    if (parameter.has_default_value()) resolved.emplace(parameter.name(), parameter.default_value());
  }
  if (const absl::Status related = CheckRelations(workload, resolved); !related.ok()) return related;
  return resolved;
}

std::string DescribeNonDefaults(const v1::WorkloadDescriptor& workload, const ParameterMap& values) {
  std::vector<std::string> parts;
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    const auto found = values.find(parameter.name());
    if (found == values.end()) continue;
    if (parameter.has_default_value() && SameValue(parameter.default_value(), found->second)) continue;
    parts.push_back(absl::StrCat(parameter.name(), "=", FormatParameter(parameter, found->second)));
  }
  return absl::StrJoin(parts, " ");
}

absl::StatusOr<v1::RepetitionRule> MergeRepetitionRules(const v1::RepetitionRule& own,
                                                        const v1::RepetitionRule& given) {
  v1::RepetitionRule rule;
  if (given.has_exactly()) {
    if (given.has_least() || given.has_most() || given.has_budget_seconds()) {
      return absl::InvalidArgumentError("repetitions: \"exactly\" excludes least, most and budget_seconds");
    }
    rule.set_exactly(given.exactly());
  } else if (own.has_exactly() && !given.has_least() && !given.has_most() && !given.has_budget_seconds()) {
    rule.set_exactly(own.exactly());
  } else {
    if (!own.has_exactly()) rule = own;
    if (given.has_least()) rule.set_least(given.least());
    if (given.has_most()) rule.set_most(given.most());
    if (given.has_budget_seconds()) rule.set_budget_seconds(given.budget_seconds());
    // One bound alone moves the other, rather than contradicting it.
    if (given.has_least() && !given.has_most() && rule.has_most() && rule.most() < rule.least()) {
      rule.set_most(rule.least());
    }
    if (given.has_most() && !given.has_least() && rule.has_least() && rule.least() > rule.most()) {
      rule.set_least(rule.most());
    }
  }
  const auto out_of_range = [](uint32_t count) { return count == 0 || count > kMostRepetitions; };
  if ((rule.has_exactly() && out_of_range(rule.exactly())) || (rule.has_least() && out_of_range(rule.least())) ||
      (rule.has_most() && out_of_range(rule.most()))) {
    return absl::InvalidArgumentError(absl::StrCat("repetitions: a count must be between 1 and ", kMostRepetitions));
  }
  if (rule.has_least() && rule.has_most() && rule.least() > rule.most()) {
    return absl::InvalidArgumentError(
        absl::StrCat("repetitions: least (", rule.least(), ") is above most (", rule.most(), ")"));
  }
  if (rule.has_budget_seconds() && !(rule.budget_seconds() > 0 && std::isfinite(rule.budget_seconds()))) {
    return absl::InvalidArgumentError("repetitions: budget_seconds must be positive");
  }
  return rule;
}

Unit UnitFromProto(v1::Unit unit) {
  switch (unit) {
    case v1::UNIT_BYTES:
      return Unit::kBytes;
    case v1::UNIT_BYTES_PER_SECOND:
      return Unit::kBytesPerSecond;
    case v1::UNIT_OPERATIONS_PER_SECOND:
      return Unit::kOperationsPerSecond;
    case v1::UNIT_SECONDS:
      return Unit::kSeconds;
    case v1::UNIT_RATIO:
      return Unit::kRatio;
    case v1::UNIT_COUNT:
      return Unit::kCount;
    default:
      return Unit::kNone;
  }
}

Direction DirectionFromProto(v1::Direction direction) {
  switch (direction) {
    case v1::DIRECTION_HIGHER_IS_BETTER:
      return Direction::kHigherIsBetter;
    case v1::DIRECTION_LOWER_IS_BETTER:
      return Direction::kLowerIsBetter;
    default:
      return Direction::kNone;
  }
}

}  // namespace fleetmark
