// Between protobuf messages and columns: jsonb for what people query (parameters, flags, conditions), bytes for what
// only programs read. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "fleetmark/v1/result.pb.h"
#include "fleetmark/v1/workload.pb.h"
#include "google/protobuf/message.h"

namespace fleetmark::collector {

using Parameters = std::map<std::string, v1::ParameterValue>;
using ParameterMap = google::protobuf::Map<std::string, v1::ParameterValue>;
using Flags = google::protobuf::RepeatedPtrField<v1::Flag>;

// {"size": 1073741824, "direct": true, "engine": "io_uring"}: number, boolean and string are the three kinds of a
// value. A value that is not finite, or of no kind, is left out.
std::string ParametersToJson(const Parameters& parameters);
std::string ParametersToJson(const ParameterMap& parameters);
Parameters ParametersFromJson(std::string_view json);

std::string LabelsToJson(const std::map<std::string, std::string>& labels);

// [{"name": "cached", "evidence": "..."}]
std::string FlagsToJson(const Flags& flags);
void FlagsFromJson(std::string_view json, Flags* flags);

// The message's protobuf JSON with the field names of the proto; "{}" if it cannot be written.
std::string MessageToJson(const google::protobuf::Message& message);

// Equal messages give equal bytes.
std::string SerializeStable(const google::protobuf::Message& message);
std::string Sha256(std::string_view bytes);

// Makes every string of a message fit for a database (valid UTF-8, no NUL) and removes numbers that are not finite from
// singular fields; repeated numbers are left alone. Returns how many numbers were removed.
int CleanMessage(google::protobuf::Message& message);

}  // namespace fleetmark::collector
