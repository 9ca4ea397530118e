#include "agent/spool/split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::agent {
namespace {

std::vector<v1::Record> SplitSamples(const v1::Record& record, size_t max_bytes) {
  const v1::SampleBatch& all = record.samples();
  // A delta takes up to 5 bytes, a value 8; the rest of the record is small.
  const auto per_part = static_cast<int>(std::max<size_t>(1, (max_bytes - std::min<size_t>(max_bytes, 1024)) / 13));
  std::vector<v1::Record> parts;
  double start = all.start_unix_seconds();
  for (int from = 0; from < all.values_size(); from += per_part) {
    const int to = std::min(all.values_size(), from + per_part);
    v1::Record part;
    part.set_agent_unix_seconds(record.agent_unix_seconds());
    v1::SampleBatch* samples = part.mutable_samples();
    samples->set_metric(all.metric());
    samples->set_unit(all.unit());
    samples->set_repetition(all.repetition());
    samples->set_start_unix_seconds(start);
    double passed_us = 0;
    for (int i = from; i < to; ++i) {
      const uint32_t delta = i < all.offset_deltas_us_size() ? all.offset_deltas_us(i) : 0;
      passed_us += delta;
      samples->add_offset_deltas_us(delta);
      samples->add_values(all.values(i));
    }
    start += passed_us / 1e6;
    parts.push_back(std::move(part));
  }
  return parts;
}

void ShrinkRepetition(v1::Record& record, size_t max_bytes) {
  v1::Repetition& repetition = *record.mutable_repetition();
  int histograms = 0;
  while (record.ByteSizeLong() + 256 > max_bytes) {
    auto* measurements = repetition.mutable_measurements();
    const auto largest = std::max_element(measurements->begin(), measurements->end(),
                                          [](const v1::Measurement& a, const v1::Measurement& b) {
                                            return a.latency_histogram().size() < b.latency_histogram().size();
                                          });
    if (largest == measurements->end() || largest->latency_histogram().empty()) break;
    largest->clear_latency_histogram();
    ++histograms;
  }
  int dropped = 0;
  while (record.ByteSizeLong() + 256 > max_bytes && repetition.measurements_size() > 0) {
    repetition.mutable_measurements()->RemoveLast();
    ++dropped;
  }
  v1::Flag* flag = repetition.add_flags();
  flag->set_name("upload_failed");
  flag->set_evidence(absl::StrCat("left out, since a record holds at most ", max_bytes, " bytes: ", histograms,
                                  " latency histograms, ", dropped, " measurements"));
}

}  // namespace

std::vector<v1::Record> SplitToFit(v1::Record record, size_t max_bytes) {
  std::vector<v1::Record> parts;
  if (record.ByteSizeLong() <= max_bytes) {
    parts.push_back(std::move(record));
    return parts;
  }
  switch (record.kind_case()) {
    case v1::Record::kSamples:
      return SplitSamples(record, max_bytes);
    case v1::Record::kRepetition:
      ShrinkRepetition(record, max_bytes);
      break;
    case v1::Record::kStarted:
      record.mutable_started()->clear_inventory();
      break;
    case v1::Record::kFinished: {
      v1::TaskFinished& finished = *record.mutable_finished();
      finished.clear_flags();
      if (finished.reason().size() > 4096) finished.set_reason(absl::StrCat(finished.reason().substr(0, 4000), " ..."));
      break;
    }
    case v1::Record::KIND_NOT_SET:
      break;
  }
  parts.push_back(std::move(record));
  return parts;
}

}  // namespace fleetmark::agent
