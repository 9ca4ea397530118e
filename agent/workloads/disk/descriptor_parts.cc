#include "agent/workloads/disk/descriptor_parts.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace fleetmark::agent {

v1::ParameterValue NumberValue(double number) {
  v1::ParameterValue value;
  value.set_number(number);
  return value;
}

v1::ParameterValue TextValue(const std::string& text) {
  v1::ParameterValue value;
  value.set_text(text);
  return value;
}

v1::ParameterValue FlagValue(bool flag) {
  v1::ParameterValue value;
  value.set_flag(flag);
  return value;
}

v1::ParameterDescriptor& AddNumberParameter(v1::WorkloadDescriptor& descriptor, v1::ParameterType type,
                                            const std::string& name, const std::string& description,
                                            double default_value, double minimum, double maximum) {
  v1::ParameterDescriptor& parameter = *descriptor.add_parameters();
  parameter.set_name(name);
  parameter.set_description(description);
  parameter.set_type(type);
  parameter.set_role(v1::PARAMETER_ROLE_IDENTITY);
  *parameter.mutable_default_value() = NumberValue(default_value);
  parameter.set_minimum(minimum);
  parameter.set_maximum(maximum);
  return parameter;
}

void AddChoiceParameter(v1::WorkloadDescriptor& descriptor, const std::string& name, const std::string& description,
                        const std::string& default_value, const std::vector<std::string>& choices) {
  v1::ParameterDescriptor& parameter = *descriptor.add_parameters();
  parameter.set_name(name);
  parameter.set_description(description);
  parameter.set_type(v1::PARAMETER_TYPE_CHOICE);
  parameter.set_role(v1::PARAMETER_ROLE_IDENTITY);
  *parameter.mutable_default_value() = TextValue(default_value);
  for (const std::string& choice : choices) parameter.add_choices(choice);
}

v1::MetricDescriptor& AddMetric(v1::WorkloadDescriptor& descriptor, const std::string& name,
                                const std::string& description, v1::Unit unit) {
  v1::MetricDescriptor& metric = *descriptor.add_metrics();
  metric.set_name(name);
  metric.set_description(description);
  metric.set_unit(unit);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  return metric;
}

void SendSeries(WorkContext& context, const std::string& metric, double start_unix_seconds,
                const std::vector<RateInterval>& series) {
  if (series.empty()) return;
  v1::SampleBatch batch;
  batch.set_metric(metric);
  batch.set_unit(v1::UNIT_BYTES_PER_SECOND);
  batch.set_start_unix_seconds(start_unix_seconds);
  int64_t last_us = 0;
  for (const RateInterval& interval : series) {
    const int64_t end_us = (interval.start_ns + interval.length_ns) / 1000;
    batch.add_offset_deltas_us(static_cast<uint32_t>(end_us - last_us));
    batch.add_values(static_cast<double>(interval.bytes) / (static_cast<double>(interval.length_ns) / 1e9));
    last_us = end_us;
  }
  context.AddSamples(std::move(batch));
}

double UnixSeconds() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

}  // namespace fleetmark::agent
