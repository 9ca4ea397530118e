// From the repetitions of one task to one line per metric: what the tables of `fleetmark-agent run` and of the
// collector's comparisons show. Pure functions.
//
// Warm-ups are left out. A flagged value (its own flags or the repetition's) is left out and counted as excluded as
// long as an unflagged one exists; where every value is flagged, they are summarised all the same and `flagged` says
// that no verdict may be built on them. Nothing that is not finite gets in.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/statistics/summary.h"
#include "fleetmark/v1/result.pb.h"
#include "fleetmark/v1/workload.pb.h"

namespace fleetmark {

struct MetricSummary {
  std::string metric;
  v1::Unit unit = v1::UNIT_UNSPECIFIED;
  v1::Direction direction = v1::DIRECTION_UNSPECIFIED;
  bool classic = false;

  std::vector<double> values;                // what the summary is made of, in the order of the repetitions
  Summary summary;                           // of `values`; n = 0 if nothing was measured
  unsigned excluded = 0;                     // flagged values left out
  bool flagged = false;                      // every value has a flag: shown, but no verdict
  std::map<std::string, std::string> flags;  // name -> evidence (of the first repetition that has it)
  std::string missing_reason;                // why there is no value

  // The 95 % interval of the median where there is one (n >= 6), else the extremes; absent without values.
  std::optional<Interval> range;
  bool range_is_interval = false;

  // Of the latency histograms of the values that count, merged; absent without them or with too few samples.
  std::optional<double> latency_p50_seconds, latency_p99_seconds;
  // Median of process CPU / elapsed, in percent of one CPU; and whether no device counter could vouch for the values.
  std::optional<double> cpu_percent;
  bool unverified = false;  // asked bytes are known, device bytes are not (nor any fraction)
  std::map<std::string, v1::ParameterValue> derived_parameters;  // of the last repetition that has them
};

// In the order in which the metrics first appear.
std::vector<MetricSummary> SummarizeRepetitions(std::span<const v1::Repetition> repetitions);

// The same for one metric's measurements, each with the flags of its repetition already added: for callers that have
// rows rather than messages.
MetricSummary SummarizeMeasurements(std::span<const v1::Measurement> measurements);

// "the device moved 3 MB of 2147 MB asked" or, without evidence, what the flag means; "" for one nobody knows.
std::string ExplainFlag(const std::string& name);

// The values of every metric so far, for the stop rule: one series per metric that has a unit people compare, unflagged
// values only; metrics without a single unflagged value are left out.
std::vector<std::vector<double>> SeriesForStopRule(std::span<const v1::Repetition> repetitions);

}  // namespace fleetmark
