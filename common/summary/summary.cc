#include "common/summary/summary.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "common/histogram/histogram.h"

namespace fleetmark {
namespace {

bool HasValue(const v1::Measurement& measurement) {
  return measurement.has_value() && std::isfinite(measurement.value());
}

// Flags of the repetition hold for each of its measurements.
struct Entry {
  std::string metric;
  std::vector<v1::Measurement> measurements;
};

std::vector<Entry> GroupByMetric(std::span<const v1::Repetition> repetitions) {
  std::vector<Entry> groups;
  std::map<std::string, size_t> index;
  for (const v1::Repetition& repetition : repetitions) {
    if (repetition.warmup()) continue;
    for (const v1::Measurement& measurement : repetition.measurements()) {
      const auto [position, is_new] = index.emplace(measurement.metric(), groups.size());
      if (is_new) groups.push_back({measurement.metric(), {}});
      v1::Measurement& added = groups[position->second].measurements.emplace_back(measurement);
      added.mutable_flags()->MergeFrom(repetition.flags());
    }
  }
  return groups;
}

void AddLatency(std::span<const v1::Measurement* const> counted, MetricSummary& result) {
  LatencyHistogram merged;
  for (const v1::Measurement* measurement : counted) {
    if (measurement->latency_histogram().empty()) continue;
    const absl::StatusOr<LatencyHistogram> histogram = LatencyHistogram::Deserialize(measurement->latency_histogram());
    if (histogram.ok()) merged.Merge(*histogram);
  }
  if (merged.count() == 0) return;
  result.latency_p50_seconds = merged.Percentile(50).seconds;
  result.latency_p99_seconds = merged.Percentile(99).seconds;
}

void AddCpu(std::span<const v1::Measurement* const> counted, MetricSummary& result) {
  std::vector<double> shares;
  for (const v1::Measurement* measurement : counted) {
    if (!measurement->has_process_cpu_seconds() || !(measurement->elapsed_seconds() > 0)) continue;
    const double share = 100 * measurement->process_cpu_seconds() / measurement->elapsed_seconds();
    if (std::isfinite(share)) shares.push_back(share);
  }
  result.cpu_percent = Median(shares);
}

bool IsUnverified(const v1::Measurement& measurement) {
  return measurement.has_asked_bytes() && !measurement.has_device_bytes() && !measurement.has_cached_fraction() &&
         !measurement.has_unsynced_fraction();
}

void AddRange(MetricSummary& result) {
  if (result.summary.median_interval.has_value()) {
    result.range = result.summary.median_interval;
    result.range_is_interval = true;
  } else if (result.summary.min.has_value() && result.summary.max.has_value()) {
    result.range = Interval{*result.summary.min, *result.summary.max};
  }
}

}  // namespace

MetricSummary SummarizeMeasurements(std::span<const v1::Measurement> measurements) {
  MetricSummary result;
  std::vector<const v1::Measurement*> clean;
  std::vector<const v1::Measurement*> doubtful;
  for (const v1::Measurement& measurement : measurements) {
    result.metric = measurement.metric();
    result.unit = measurement.unit();
    result.direction = measurement.direction();
    result.classic = result.classic || measurement.classic();
    for (const v1::Flag& flag : measurement.flags()) result.flags.emplace(flag.name(), flag.evidence());
    if (!measurement.missing_reason().empty()) result.missing_reason = measurement.missing_reason();
    for (const auto& [name, value] : measurement.derived_parameters()) result.derived_parameters[name] = value;
    if (!HasValue(measurement)) continue;
    (measurement.flags_size() == 0 ? clean : doubtful).push_back(&measurement);
  }
  const bool has_clean = !clean.empty();
  const std::vector<const v1::Measurement*>& counted = has_clean ? clean : doubtful;
  result.excluded = has_clean ? static_cast<unsigned>(doubtful.size()) : 0;
  result.flagged = !has_clean && !doubtful.empty();
  for (const v1::Measurement* measurement : counted) {
    result.values.push_back(measurement->value());
    result.unverified = result.unverified || IsUnverified(*measurement);
  }
  result.summary = Summarize(result.values);
  if (!result.values.empty()) result.missing_reason.clear();
  AddRange(result);
  AddLatency(counted, result);
  AddCpu(counted, result);
  return result;
}

std::vector<MetricSummary> SummarizeRepetitions(std::span<const v1::Repetition> repetitions) {
  std::vector<MetricSummary> summaries;
  for (const Entry& group : GroupByMetric(repetitions)) summaries.push_back(SummarizeMeasurements(group.measurements));
  return summaries;
}

std::vector<std::vector<double>> SeriesForStopRule(std::span<const v1::Repetition> repetitions) {
  std::vector<std::vector<double>> series;
  for (const Entry& group : GroupByMetric(repetitions)) {
    std::vector<double> values;
    for (const v1::Measurement& measurement : group.measurements) {
      if (HasValue(measurement) && measurement.flags_size() == 0 && measurement.direction() != v1::DIRECTION_NONE) {
        values.push_back(measurement.value());
      }
    }
    if (!values.empty()) series.push_back(std::move(values));
  }
  return series;
}

std::string ExplainFlag(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"overrun", "the last operations returned after the planned time"},
      {"cached", "part of what was read came from memory, not from the device"},
      {"unsynced", "part of what was written had not reached the device when the clock stopped"},
      {"too_short", "the measured window was too short to mean much"},
      {"noisy", "the repetitions differ too much for a precise median"},
      {"busy", "something else used this machine while it was measured"},
      {"memory-backed", "a layer of this storage lives in memory"},
      {"clock-suspect", "the clock it was measured with cannot be relied on"},
      {"file, not device", "measured on a file, since the block device may not be opened"},
      {"throttled", "the processor was slowed down by heat, power or a quota"},
      {"swapped", "the machine swapped meanwhile"},
      {"impossible", "the value is above what the device's link can carry"},
      {"implausible", "the value is above what such hardware can do"},
      {"direct not effective", "direct reads and writes were asked for, and went through memory all the same"},
      {"array < 4 × LLC", "the arrays are too small to keep the caches out of the figure"},
      {"upload_failed", "part of the result was too large to be sent and was left out"},
      {"leftovers", "scratch files could not be removed"},
      {"stats_inconsistent", "the figures of this measurement contradict each other"},
  };
  for (const auto& [flag, meaning] : kMeanings) {
    if (flag == name) return std::string(meaning);
  }
  return "";
}

}  // namespace fleetmark
