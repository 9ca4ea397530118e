#include "agent/worker/sanitize.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "common/text/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace fleetmark::agent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kLargestBatch = 16384;  // points: some 200 KiB

void CleanField(Message& message, const Reflection& reflection, const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    if (!field.is_repeated() && !std::isfinite(reflection.GetDouble(message, &field))) {
      reflection.ClearField(&message, &field);
    }
  } else if (field.type() == FieldDescriptor::TYPE_STRING) {
    if (field.is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
        reflection.SetRepeatedString(&message, &field, i, CleanUtf8(reflection.GetRepeatedString(message, &field, i)));
      }
    } else {
      reflection.SetString(&message, &field, CleanUtf8(reflection.GetString(message, &field)));
    }
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (field.is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
        MakeFinite(*reflection.MutableRepeatedMessage(&message, &field, i));
      }
    } else {
      MakeFinite(*reflection.MutableMessage(&message, &field));
    }
  }
}

const v1::MetricDescriptor* FindMetric(const v1::WorkloadDescriptor& workload, const std::string& name) {
  for (const v1::MetricDescriptor& metric : workload.metrics()) {
    if (metric.name() == name) return &metric;
  }
  return nullptr;
}

void CleanMeasurement(const v1::WorkloadDescriptor& workload, v1::Measurement& measurement) {
  if (const v1::MetricDescriptor* metric = FindMetric(workload, measurement.metric())) {
    if (measurement.unit() == v1::UNIT_UNSPECIFIED) measurement.set_unit(metric->unit());
    if (measurement.direction() == v1::DIRECTION_UNSPECIFIED) measurement.set_direction(metric->direction());
    if (metric->classic()) measurement.set_classic(true);
  }
  const bool had_value = measurement.has_value();
  std::string reason;
  if (had_value && !std::isfinite(measurement.value())) reason = "the value is not a finite number";
  if (had_value && measurement.value() < 0) reason = "the value is negative";
  if (had_value && measurement.has_operations() && measurement.operations() == 0) reason = "no operations";
  MakeFinite(measurement);
  if (measurement.has_elapsed_seconds() && measurement.elapsed_seconds() < 0) {
    measurement.clear_elapsed_seconds();
    if (had_value) reason = "the clock went backwards";
  }
  if (!reason.empty()) {
    measurement.clear_value();
    measurement.set_missing_reason(reason);
  }
  if (!measurement.has_value() && measurement.missing_reason().empty()) {
    measurement.set_missing_reason("not measured");
  }
}

}  // namespace

void MakeFinite(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) CleanField(message, reflection, *field);
}

void SanitizeRepetition(const v1::WorkloadDescriptor& workload, v1::Repetition& repetition) {
  std::set<std::string> seen;
  google::protobuf::RepeatedPtrField<v1::Measurement> kept;
  for (v1::Measurement& measurement : *repetition.mutable_measurements()) {
    if (!seen.insert(measurement.metric()).second) continue;
    CleanMeasurement(workload, measurement);
    kept.Add()->Swap(&measurement);
  }
  repetition.mutable_measurements()->Swap(&kept);
  MakeFinite(repetition);
}

std::vector<v1::SampleBatch> SanitizeSamples(const v1::SampleBatch& samples) {
  std::vector<v1::SampleBatch> batches;
  const int count = std::min(samples.offset_deltas_us_size(), samples.values_size());
  if (!std::isfinite(samples.start_unix_seconds())) return batches;
  double batch_start = samples.start_unix_seconds();
  uint64_t since_batch_start_us = 0;
  uint64_t last_kept_us = 0;
  for (int i = 0; i < count; ++i) {
    since_batch_start_us += samples.offset_deltas_us(i);
    if (!std::isfinite(samples.values(i))) continue;
    const bool full = !batches.empty() && batches.back().values_size() == kLargestBatch;
    if (batches.empty() || full || since_batch_start_us - last_kept_us > UINT32_MAX) {
      batch_start += static_cast<double>(since_batch_start_us) / 1e6;
      since_batch_start_us = 0;
      last_kept_us = 0;
      v1::SampleBatch& batch = batches.emplace_back();
      batch.set_metric(CleanUtf8(samples.metric()));
      batch.set_unit(samples.unit());
      batch.set_repetition(samples.repetition());
      batch.set_start_unix_seconds(batch_start);
    }
    batches.back().add_offset_deltas_us(static_cast<uint32_t>(since_batch_start_us - last_kept_us));
    batches.back().add_values(samples.values(i));
    last_kept_us = since_batch_start_us;
  }
  return batches;
}

}  // namespace fleetmark::agent
