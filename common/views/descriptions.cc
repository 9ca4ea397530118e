#include "common/views/descriptions.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/parameters/parameters.h"
#include "common/units/format.h"

namespace fleetmark {
namespace {

std::string DescribeRange(const v1::ParameterDescriptor& parameter) {
  const auto bound = [&](bool has, double value) {
    if (!has) return std::string();
    v1::ParameterValue number;
    number.set_number(value);
    return FormatParameter(parameter, number);
  };
  std::vector<std::string> parts;
  const std::string low = bound(parameter.has_minimum(), parameter.minimum());
  const std::string high = bound(parameter.has_maximum(), parameter.maximum());
  if (!low.empty() || !high.empty()) parts.push_back(absl::StrCat(low, " ... ", high));
  if (parameter.has_multiple_of()) parts.push_back(absl::StrCat("multiples of ", bound(true, parameter.multiple_of())));
  if (!parameter.below().empty()) parts.push_back(absl::StrCat("below ", parameter.below()));
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string DescribeType(const v1::ParameterDescriptor& parameter) {
  switch (parameter.type()) {
    case v1::PARAMETER_TYPE_BYTES:
      return "size";
    case v1::PARAMETER_TYPE_COUNT:
      return "count";
    case v1::PARAMETER_TYPE_SECONDS:
      return "duration";
    case v1::PARAMETER_TYPE_RATIO:
      return "ratio";
    case v1::PARAMETER_TYPE_FLAG:
      return "true or false";
    case v1::PARAMETER_TYPE_CHOICE:
      return absl::StrJoin(parameter.choices(), " | ");
    default:
      return absl::StrCat("unknown(", static_cast<int>(parameter.type()), ")");
  }
}

std::string DescribeRole(const v1::ParameterDescriptor& parameter) {
  return parameter.role() == v1::PARAMETER_ROLE_DERIVED ? "derived" : "identity";
}

std::string DescribeUnit(Unit unit) {
  return absl::StrReplaceAll(std::string(UnitName(unit)), {{"_per_second", "/s"}});
}

Table ParameterTable(const v1::WorkloadDescriptor& workload) {
  Table table;
  table.title = absl::StrCat("parameters of ", workload.name(), " (--set ", workload.name(), ".NAME=VALUE)");
  table.columns = {{.header = "parameter"}, {.header = "type"}, {.header = "default"},
                   {.header = "range"},     {.header = "role"}, {.header = "meaning"}};
  for (const v1::ParameterDescriptor& parameter : workload.parameters()) {
    table.rows.push_back(
        {Cell::Text(parameter.name()), Cell::Text(DescribeType(parameter)),
         Cell::Text(parameter.has_default_value() ? FormatParameter(parameter, parameter.default_value())
                                                  : std::string("from the machine")),
         Cell::Text(DescribeRange(parameter)), Cell::Text(DescribeRole(parameter)),
         Cell::Text(parameter.description())});
  }
  table.notes.push_back("identity: must be equal for a comparison; derived: follows from the machine");
  return table;
}

std::string DescribeRule(const v1::RepetitionRule& rule) {
  if (rule.has_exactly()) return absl::StrCat("exactly ", rule.exactly());
  std::vector<std::string> parts;
  if (rule.has_least()) parts.push_back(absl::StrCat("at least ", rule.least()));
  if (rule.has_most()) parts.push_back(absl::StrCat("at most ", rule.most()));
  if (rule.has_budget_seconds()) parts.push_back(FormatTimeSpan(absl::Seconds(rule.budget_seconds())));
  return absl::StrJoin(parts, ", ");
}

std::string DescribeStack(const v1::Target& target) {
  std::vector<std::string> layers;
  for (const v1::StorageLayer& layer : target.stack()) {
    layers.push_back(layer.device().empty() ? layer.kind() : layer.device());
  }
  return absl::StrJoin(layers, " > ");
}

std::string DescribeDisks(const v1::Target& target) {
  std::vector<std::string> disks;
  for (const v1::Disk& disk : target.disks()) {
    disks.push_back(disk.model().empty() ? disk.kernel_name()
                                         : absl::StrCat(disk.kernel_name(), " (", disk.model(), ")"));
  }
  return absl::StrJoin(disks, ", ");
}

}  // namespace fleetmark
