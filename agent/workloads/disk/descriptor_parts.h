// Short words for building the descriptors of the disk workloads.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/io_job.h"
#include "agent/workloads/workload.h"

namespace fleetmark::agent {

inline constexpr double kMiB = 1048576;  // bytes

v1::ParameterValue NumberValue(double number);
v1::ParameterValue TextValue(const std::string& text);
v1::ParameterValue FlagValue(bool flag);

// An identity parameter with a default and a range, both ends included.
v1::ParameterDescriptor& AddNumberParameter(v1::WorkloadDescriptor& descriptor, v1::ParameterType type,
                                            const std::string& name, const std::string& description,
                                            double default_value, double minimum, double maximum);
void AddChoiceParameter(v1::WorkloadDescriptor& descriptor, const std::string& name, const std::string& description,
                        const std::string& default_value, const std::vector<std::string>& choices);

// Higher is better.
v1::MetricDescriptor& AddMetric(v1::WorkloadDescriptor& descriptor, const std::string& name,
                                const std::string& description, v1::Unit unit);

// Sends the intervals of a phase as a time series of bytes/s; each value stands at the end of its interval.
void SendSeries(WorkContext& context, const std::string& metric, double start_unix_seconds,
                const std::vector<RateInterval>& series);

double UnixSeconds();

}  // namespace fleetmark::agent
