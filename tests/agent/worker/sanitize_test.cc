#include "agent/worker/sanitize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fleetmark::agent {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

v1::WorkloadDescriptor Workload() {
  v1::WorkloadDescriptor workload;
  v1::MetricDescriptor& metric = *workload.add_metrics();
  metric.set_name("read");
  metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  return workload;
}

// C-043: one bad value loses one value.
TEST(SanitizeRepetitionTest, OnlyTheBadValuesGo) {
  v1::Repetition repetition;
  repetition.set_measure_seconds(kInfinity);
  repetition.mutable_conditions()->set_cpu_pressure(kNan);
  repetition.mutable_conditions()->set_load_average_1min(0.5);
  v1::Measurement& bad = *repetition.add_measurements();
  bad.set_metric("read");
  bad.set_value(5e8);
  bad.set_device_bytes(-kInfinity);
  bad.set_asked_bytes(100);
  (*bad.mutable_derived_parameters())["depth"].set_number(kNan);
  (*bad.mutable_derived_parameters())["engine"].set_text("io\xffuring");
  bad.add_flags()->set_evidence(std::string("a\0b", 3));
  SanitizeRepetition(Workload(), repetition);
  const v1::Measurement& measurement = repetition.measurements(0);
  EXPECT_FALSE(repetition.has_measure_seconds());
  EXPECT_FALSE(repetition.conditions().has_cpu_pressure());
  EXPECT_EQ(repetition.conditions().load_average_1min(), 0.5);
  EXPECT_EQ(measurement.value(), 5e8);
  EXPECT_EQ(measurement.unit(), v1::UNIT_BYTES_PER_SECOND);
  EXPECT_EQ(measurement.direction(), v1::DIRECTION_HIGHER_IS_BETTER);
  EXPECT_FALSE(measurement.has_device_bytes());
  EXPECT_EQ(measurement.asked_bytes(), 100);
  EXPECT_EQ(measurement.derived_parameters().at("engine").text(), "io\uFFFDuring");
  EXPECT_EQ(measurement.derived_parameters().at("depth").value_case(), v1::ParameterValue::VALUE_NOT_SET);
  EXPECT_EQ(measurement.flags(0).evidence(), "a\uFFFDb");
  v1::Repetition again;
  EXPECT_TRUE(again.ParseFromString(repetition.SerializeAsString()));
}

// C-012
TEST(SanitizeRepetitionTest, ValuesThatCannotBeAreAbsentWithAReason) {
  v1::Repetition repetition;
  const auto add = [&](const char* name) -> v1::Measurement& {
    v1::Measurement& measurement = *repetition.add_measurements();
    measurement.set_metric(name);
    return measurement;
  };
  add("zero").set_value(0);
  repetition.mutable_measurements(0)->set_operations(0);
  add("negative").set_value(-1);
  add("nan").set_value(kNan);
  add("backwards").set_value(1);
  repetition.mutable_measurements(3)->set_elapsed_seconds(-0.5);
  add("absent");
  add("nan").set_value(7);
  SanitizeRepetition(Workload(), repetition);
  ASSERT_EQ(repetition.measurements_size(), 5);
  for (const v1::Measurement& measurement : repetition.measurements()) {
    EXPECT_FALSE(measurement.has_value()) << measurement.metric();
    EXPECT_FALSE(measurement.missing_reason().empty()) << measurement.metric();
  }
  EXPECT_EQ(repetition.measurements(0).missing_reason(), "no operations");
}

TEST(SanitizeSamplesTest, DropsBadPointsAndKeepsTheTimeOfTheOthers) {
  v1::SampleBatch samples;
  samples.set_start_unix_seconds(1000);
  for (const double value : {1.0, kNan, 3.0, kInfinity, 5.0}) {
    samples.add_offset_deltas_us(100);
    samples.add_values(value);
  }
  samples.add_offset_deltas_us(100);  // no value to it
  const std::vector<v1::SampleBatch> batches = SanitizeSamples(samples);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_NEAR(batches[0].start_unix_seconds(), 1000.0001, 1e-6);
  EXPECT_EQ((std::vector<double>(batches[0].values().begin(), batches[0].values().end())),
            (std::vector<double>{1, 3, 5}));
  EXPECT_EQ((std::vector<uint32_t>(batches[0].offset_deltas_us().begin(), batches[0].offset_deltas_us().end())),
            (std::vector<uint32_t>{0, 200, 200}));
}

TEST(SanitizeSamplesTest, ALongSeriesIsCutIntoMessagesThatFit) {
  v1::SampleBatch samples;
  samples.set_metric("write");
  constexpr int kPoints = 100'000;
  for (int i = 0; i < kPoints; ++i) {
    samples.add_offset_deltas_us(100'000);
    samples.add_values(i);
  }
  int points = 0;
  double last = 0;
  for (const v1::SampleBatch& batch : SanitizeSamples(samples)) {
    EXPECT_LT(batch.ByteSizeLong(), 1u << 20);
    EXPECT_EQ(batch.metric(), "write");
    double time = batch.start_unix_seconds();
    for (int i = 0; i < batch.values_size(); ++i, ++points) {
      time += batch.offset_deltas_us(i) / 1e6;
      EXPECT_EQ(batch.values(i), points);
      last = time;
    }
  }
  EXPECT_EQ(points, kPoints);
  EXPECT_NEAR(last, kPoints * 0.1, 1e-3);
}

}  // namespace
}  // namespace fleetmark::agent
