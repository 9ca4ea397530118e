#include "collector/ingest/sanitize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

v1::Record Record() {
  v1::Record record;
  record.mutable_id()->set_task_id(1);
  record.mutable_id()->set_attempt(1);
  record.mutable_id()->set_sequence(2);
  return record;
}

// C-111
TEST(MendRecordTest, ValuesThatAreNotFiniteBecomeAbsentWithAReason) {
  v1::Record record = Record();
  v1::Measurement& bad = *record.mutable_repetition()->add_measurements();
  bad.set_metric("b");
  bad.set_value(kNaN);
  bad.set_elapsed_seconds(kInfinity);
  bad.set_operations(7);
  v1::Measurement& good = *record.mutable_repetition()->add_measurements();
  good.set_value(1.5);
  EXPECT_EQ(MendRecord(record), 2u);
  const v1::Measurement& mended = record.repetition().measurements(0);
  EXPECT_FALSE(mended.has_value());
  EXPECT_THAT(mended.missing_reason(), HasSubstr("finite"));
  EXPECT_FALSE(mended.has_elapsed_seconds());
  EXPECT_EQ(mended.operations(), 7);
  EXPECT_EQ(record.repetition().measurements(1).value(), 1.5);
}

TEST(MendRecordTest, SamplesThatAreNotFiniteGoWithTheirStamps) {
  v1::Record record = Record();
  for (const double value : {1.0, kNaN, 3.0, kInfinity, 5.0}) {
    record.mutable_samples()->add_offset_deltas_us(10);
    record.mutable_samples()->add_values(value);
  }
  EXPECT_EQ(MendRecord(record), 2u);
  EXPECT_THAT(record.samples().values(), ElementsAre(1.0, 3.0, 5.0));
  EXPECT_THAT(record.samples().offset_deltas_us(), ElementsAre(10, 20, 20)) << "later samples keep their time";
}

TEST(MendRecordTest, ColumnsOfDifferentLengthAreCut) {
  v1::Record record = Record();
  for (int i = 0; i < 3; ++i) record.mutable_samples()->add_values(i);
  record.mutable_samples()->add_offset_deltas_us(10);
  EXPECT_EQ(MendRecord(record), 2u);
  EXPECT_THAT(record.samples().values(), ElementsAre(0.0));
}

// C-109
TEST(MendRecordTest, TextLosesItsNuls) {
  v1::Record record = Record();
  v1::Target& target = *record.mutable_started()->mutable_target();
  target.add_disks()->set_model(std::string("SSD\0\0\0", 6));
  target.set_path(std::string("/a\0b", 4));
  (*record.mutable_started()->mutable_identity_parameters())["size"].set_number(kNaN);
  EXPECT_EQ(MendRecord(record), 3u);
  EXPECT_EQ(record.started().target().disks(0).model(), "SSD");
  EXPECT_EQ(record.started().target().path(), "/a\uFFFDb");
  EXPECT_EQ(record.started().identity_parameters().at("size").value_case(), v1::ParameterValue::VALUE_NOT_SET);
}

// C-181
TEST(MendRecordTest, AbsurdTextIsCut) {
  v1::Record record = Record();
  record.mutable_finished()->set_reason(std::string(1 << 20, 'x'));
  EXPECT_EQ(MendRecord(record), 1u);
  EXPECT_LE(record.finished().reason().size(), kMostTextBytes);
}

TEST(MendRecordTest, LeavesAGoodRecordAlone) {
  v1::Record record = Record();
  v1::Measurement& measurement = *record.mutable_repetition()->add_measurements();
  measurement.set_value(0);
  measurement.set_latency_histogram(std::string("\0\xff", 2));
  measurement.add_flags()->set_evidence("größer als 5 %");
  const std::string before = record.SerializeAsString();
  EXPECT_EQ(MendRecord(record), 0u);
  EXPECT_EQ(record.SerializeAsString(), before);
}

// C-134, C-181
TEST(RefuseRecordTest, NamesWhatIsTooMuch) {
  EXPECT_EQ(RefuseRecord(Record()), std::nullopt);
  EXPECT_NE(RefuseRecord(v1::Record()), std::nullopt);
  v1::Record record = Record();
  for (int i = 0; i <= kMostSamplesPerRecord; ++i) record.mutable_samples()->add_values(1);
  EXPECT_THAT(RefuseRecord(record).value_or(""), HasSubstr("samples"));
  record = Record();
  record.mutable_repetition()->add_measurements()->set_latency_histogram(std::string(kMostRecordBytes, 'x'));
  EXPECT_THAT(RefuseRecord(record).value_or(""), HasSubstr("bytes"));
}

}  // namespace
}  // namespace fleetmark::collector
