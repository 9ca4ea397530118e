// The edge of the agent for values: nothing leaves a worker that is not finite, valid UTF-8 and consistent. One bad
// value loses one value. Pure.
#pragma once

#include <vector>

#include "fleetmark/v1/result.pb.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark::agent {

// Removes every number that is NaN or infinite and makes every text clean, at any depth.
void MakeFinite(google::protobuf::Message& message);

// MakeFinite; values that cannot be (no operations, negative) become absent with a reason; units and directions that
// are missing come from the descriptor; a metric that is there twice stays once.
void SanitizeRepetition(const v1::WorkloadDescriptor& workload, v1::Repetition& repetition);

// Drops points that are not finite, and cuts a long series into batches that fit into messages.
std::vector<v1::SampleBatch> SanitizeSamples(const v1::SampleBatch& samples);

}  // namespace fleetmark::agent
