#include "cli/commands/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Lines = std::vector<std::vector<std::string>>;

// As a program reads it.
Lines CsvLines(const Table& table) {
  const auto rows = ParseCsv(RenderCsv(table));
  EXPECT_TRUE(rows.has_value());
  return rows.value_or(Lines());
}

v1::Host MacPro() {
  v1::Host host;
  host.set_id("11112222-3333");
  host.set_name("mac-pro");
  host.set_connected(true);
  host.set_clock_offset_seconds(-0.013);
  (*host.mutable_labels())["room"] = "attic";
  host.mutable_inventory()->mutable_memory()->set_usable_bytes(25.25e9);
  v1::Target& target = *host.mutable_inventory()->add_targets();
  target.set_name("ssd");
  target.set_is_default(true);
  target.set_path("/mnt/ssd");
  target.set_free_bytes(78.1e9);
  return host;
}

// A target is found by its name, so nothing else stands in that field.
TEST(DisksTableTest, CsvHasTheTargetsNameAlone) {
  const Lines rows = CsvLines(DisksTable({MacPro()}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][1], "target");
  EXPECT_EQ(rows[1][1], "ssd");
  EXPECT_EQ(rows[0][2], "default");
  EXPECT_EQ(rows[1][2], "true");
  const std::string text = RenderTable(DisksTable({MacPro()}), RenderOptions());
  EXPECT_THAT(text, HasSubstr("ssd (default)"));
  EXPECT_EQ(text.find("target"), text.rfind("target")) << text;
}

// C-157: a negative number is one, without an apostrophe.
TEST(HostCsvTest, HasNumbersInBaseUnitsAndTheTargets) {
  const std::string csv = RenderCsv(HostCsv(MacPro()));
  EXPECT_THAT(csv, HasSubstr("mac-pro,,memory_bytes,25250000000\r\n"));
  EXPECT_THAT(csv, HasSubstr("mac-pro,,clock_offset_seconds,-0.013\r\n"));
  const Lines rows = CsvLines(HostCsv(MacPro()));
  EXPECT_THAT(rows.front(), ElementsAre("host", "target", "fact", "value"));
  EXPECT_THAT(rows, Contains(ElementsAre("mac-pro", "", "connected", "true")));
  EXPECT_THAT(rows, Contains(ElementsAre("mac-pro", "", "label.room", "attic")));
  EXPECT_THAT(rows, Contains(ElementsAre("mac-pro", "ssd", "path", "/mnt/ssd")));
  EXPECT_THAT(rows, Contains(ElementsAre("mac-pro", "ssd", "free_bytes", "78100000000")));
  EXPECT_THAT(rows, Not(Contains(Contains("usable_cpus")))) << "what is unknown has no row";
}

v1::OfferedWorkload Offered() {
  v1::OfferedWorkload offered;
  v1::WorkloadDescriptor& workload = *offered.mutable_workload();
  workload.set_name("disk.dd");
  workload.set_version(1);
  v1::ParameterDescriptor& size = *workload.add_parameters();
  size.set_name("size");
  size.set_type(v1::PARAMETER_TYPE_BYTES);
  size.mutable_default_value()->set_number(1 << 30);
  size.set_minimum(1 << 20);
  v1::MetricDescriptor& metric = *workload.add_metrics();
  metric.set_name("write");
  metric.set_unit(v1::UNIT_BYTES_PER_SECOND);
  metric.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  return offered;
}

TEST(WorkloadCsvTest, HasParametersAndMetrics) {
  const Lines rows = CsvLines(WorkloadCsv(Offered()));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[1], ElementsAre("disk.dd", "1", "parameter", "size", "size", "bytes", "1073741824", "1048576", "",
                                   "", "identity", "", "", ""));
  EXPECT_THAT(rows[2], ElementsAre("disk.dd", "1", "metric", "write", "", "bytes_per_second", "", "", "", "", "",
                                   "higher is better", "false", ""));
}

TEST(WorkloadTablesTest, UnitsAreReadByPeople) {
  std::string text;
  for (const Table& table : WorkloadTables(Offered())) text += RenderTable(table, RenderOptions());
  EXPECT_THAT(text, HasSubstr("bytes/s"));
  EXPECT_THAT(text, Not(HasSubstr("per_second")));
}

}  // namespace
}  // namespace fleetmark::cli
