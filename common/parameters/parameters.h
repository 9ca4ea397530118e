// Parameters of workloads: from text as people type it to typed values, checked against their descriptors. Pure
// functions, used by the agent (which trusts nobody), the collector (suites, `--set`) and `fleetmark-agent run`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/units/units.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark {

using ParameterMap = std::map<std::string, v1::ParameterValue>;

// "2GiB", "5s", "70%", "true" as the descriptor's type wants it; within its range. InvalidArgument quotes what was
// given and says what would be right.
absl::StatusOr<v1::ParameterValue> ParseParameter(const v1::ParameterDescriptor& descriptor, std::string_view text);

// As people read it, and as ParseParameter reads it back to the same value: "2 GiB", "5 s", "0.7", "true".
std::string FormatParameter(const v1::ParameterDescriptor& descriptor, const v1::ParameterValue& value);
// Without a descriptor (the workload is one this program does not know): plain numbers.
std::string FormatParameterValue(const v1::ParameterValue& value);

// Type, finiteness, wholeness, range, step and choice of one value.
absl::Status CheckParameter(const v1::ParameterDescriptor& descriptor, const v1::ParameterValue& value);

// The descriptor of the parameter `name`; InvalidArgument names the nearest one there is.
absl::StatusOr<const v1::ParameterDescriptor*> FindParameter(const v1::WorkloadDescriptor& workload,
                                                             std::string_view name);

// Every given value checked, defaults filled in, and the relations between parameters checked. A parameter without a
// default that was not given is left out: the workload derives it from the machine.
absl::StatusOr<ParameterMap> ResolveParameters(const v1::WorkloadDescriptor& workload, const ParameterMap& given);

// Those of `values` that are not the default: "size=2 GiB threads=4"; in the descriptor's order, "" if none.
std::string DescribeNonDefaults(const v1::WorkloadDescriptor& workload, const ParameterMap& values);

// `given` over `own`, checked: `exactly` excludes the others, least <= most, at most kMostRepetitions.
inline constexpr uint32_t kMostRepetitions = 1000;
absl::StatusOr<v1::RepetitionRule> MergeRepetitionRules(const v1::RepetitionRule& own, const v1::RepetitionRule& given);

// The wire's units and directions as common/units knows them; kNone for numbers of a newer program.
Unit UnitFromProto(v1::Unit unit);
Direction DirectionFromProto(v1::Direction direction);

}  // namespace fleetmark
