#include "collector/ingest/sanitize.h"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace fleetmark::collector {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool TextIsFine(const std::string& text) {
  return text.size() <= kMostTextBytes && text.find('\0') == std::string::npos;
}

std::string MendText(const std::string& text) {
  std::string clean = CleanUtf8(text);
  if (clean.size() > kMostTextBytes) clean = CleanUtf8(std::string_view(clean).substr(0, kMostTextBytes - 4));
  return clean;
}

size_t MendSingle(Message& message, const FieldDescriptor* field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (std::isfinite(reflection.GetDouble(message, field))) return 0;
      reflection.ClearField(&message, field);
      return 1;
    case FieldDescriptor::CPPTYPE_STRING: {
      if (field->type() == FieldDescriptor::TYPE_BYTES) return 0;
      std::string scratch;
      const std::string& text = reflection.GetStringReference(message, field, &scratch);
      if (TextIsFine(text)) return 0;
      reflection.SetString(&message, field, MendText(text));
      return 1;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MendMessage(*reflection.MutableMessage(&message, field));
    default:
      return 0;
  }
}

size_t MendRepeated(Message& message, const FieldDescriptor* field) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, field);
  size_t mended = 0;
  for (int i = 0; i < size; ++i) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      mended += MendMessage(*reflection.MutableRepeatedMessage(&message, field, i));
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      std::string scratch;
      const std::string& text = reflection.GetRepeatedStringReference(message, field, i, &scratch);
      if (TextIsFine(text)) continue;
      reflection.SetRepeatedString(&message, field, i, MendText(text));
      ++mended;
    }
  }
  return mended;
}

size_t MendSamples(v1::SampleBatch& samples) {
  size_t mended = 0;
  v1::SampleBatch kept;
  uint64_t at = 0;       // offset of the sample looked at
  uint64_t kept_at = 0;  // offset of the last one kept
  const int count = std::min(samples.values_size(), samples.offset_deltas_us_size());
  for (int i = 0; i < count; ++i) {
    at += samples.offset_deltas_us(i);
    if (!std::isfinite(samples.values(i)) || at - kept_at > UINT32_MAX) {
      ++mended;
      continue;
    }
    kept.add_values(samples.values(i));
    kept.add_offset_deltas_us(static_cast<uint32_t>(at - kept_at));
    kept_at = at;
  }
  mended += static_cast<size_t>(std::max(samples.values_size(), samples.offset_deltas_us_size()) - count);
  if (mended == 0) return 0;
  samples.mutable_values()->Swap(kept.mutable_values());
  samples.mutable_offset_deltas_us()->Swap(kept.mutable_offset_deltas_us());
  return mended;
}

}  // namespace

size_t MendMessage(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  size_t mended = 0;
  for (const FieldDescriptor* field : fields) {
    mended += field->is_repeated() ? MendRepeated(message, field) : MendSingle(message, field);
  }
  return mended;
}

size_t MendRecord(v1::Record& record) {
  size_t mended = 0;
  if (record.has_repetition()) {
    for (v1::Measurement& measurement : *record.mutable_repetition()->mutable_measurements()) {
      if (!measurement.has_value() || std::isfinite(measurement.value())) continue;
      measurement.clear_value();
      if (measurement.missing_reason().empty()) measurement.set_missing_reason("the agent sent no finite number");
      ++mended;
    }
  }
  if (record.has_samples()) mended += MendSamples(*record.mutable_samples());
  return mended + MendMessage(record);
}

std::optional<std::string> RefuseRecord(const v1::Record& record) {
  if (record.id().task_id() <= 0 || record.id().attempt() == 0 || record.id().sequence() == 0) {
    return "the record has no task, attempt or sequence";
  }
  if (const size_t bytes = record.ByteSizeLong(); bytes > kMostRecordBytes) {
    return absl::StrCat("the record has ", bytes, " bytes, more than ", kMostRecordBytes);
  }
  if (record.samples().values_size() > kMostSamplesPerRecord) {
    return absl::StrCat("the record has ", record.samples().values_size(), " samples, more than ",
                        kMostSamplesPerRecord);
  }
  if (record.repetition().measurements_size() > kMostMeasurementsPerRepetition) {
    return absl::StrCat("the repetition has ", record.repetition().measurements_size(), " measurements, more than ",
                        kMostMeasurementsPerRepetition);
  }
  return std::nullopt;
}

}  // namespace fleetmark::collector
