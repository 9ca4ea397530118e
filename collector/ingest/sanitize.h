// What arrives from agents, made storable: one bad value loses one value, never its record. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "fleetmark/v1/result.pb.h"

namespace google::protobuf {
class Message;
}

namespace fleetmark::collector {

// The most a record may hold. An agent of ours stays far below; what is over is refused as a whole.
inline constexpr size_t kMostRecordBytes = size_t{2} << 20;
inline constexpr int kMostSamplesPerRecord = 100'000;
inline constexpr int kMostMeasurementsPerRepetition = 2'000;
inline constexpr size_t kMostTextBytes = size_t{64} << 10;

// Everywhere in `message`: a number that is not finite becomes absent, text loses its NULs and what exceeds
// kMostTextBytes. Returns how many values were mended.
size_t MendMessage(google::protobuf::Message& message);

// MendMessage, and what a record needs besides: a measurement whose value went says so in missing_reason; samples that
// are not finite are taken out together with their stamps.
size_t MendRecord(v1::Record& record);

// Why a record cannot be taken at all; nullopt if it can.
std::optional<std::string> RefuseRecord(const v1::Record& record);

}  // namespace fleetmark::collector
