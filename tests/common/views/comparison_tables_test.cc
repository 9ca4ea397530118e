#include "common/views/comparison_tables.h"

#include <gtest/gtest.h>

namespace fleetmark {
namespace {

v1::ComparisonCell Measured(double median, double low, double high, uint32_t n) {
  v1::ComparisonCell cell;
  cell.set_median(median);
  cell.set_low(low);
  cell.set_high(high);
  cell.set_repetitions(n);
  return cell;
}

// Two hosts, one metric measured on both, one on the first only.
v1::CompareResponse TwoHosts() {
  v1::CompareResponse comparison;
  for (const char* host : {"mac-pro", "thinkpad"}) {
    v1::ComparisonColumn& column = *comparison.add_columns();
    column.set_host(host);
    column.set_target("ssd");
    column.set_path("/mnt/ssd");
    column.set_disk("Electra 6G");
    column.add_run_ids(12);
  }
  v1::ComparisonRow& rate = *comparison.add_rows();
  rate.set_workload("disk.profile");
  rate.set_version(1);
  rate.set_metric("seq1m_q8t1.read.bandwidth");
  rate.set_unit(v1::UNIT_BYTES_PER_SECOND);
  rate.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  *rate.add_cells() = Measured(500e6, 490e6, 510e6, 6);
  rate.mutable_cells(0)->set_interval(true);
  *rate.add_cells() = Measured(1000e6, 900e6, 1100e6, 3);
  rate.mutable_cells(1)->set_best(true);
  rate.mutable_cells(1)->set_ratio_to_first(2);
  rate.mutable_cells(1)->add_flags("cached");
  v1::ComparisonRow& missing = *comparison.add_rows();
  missing = rate;
  missing.set_metric("seq1m_q8t1.write.bandwidth");
  *missing.mutable_cells(1) = v1::ComparisonCell();
  missing.mutable_cells(1)->set_missing_reason("skipped: 20 GiB asked, 3 GiB free");
  comparison.add_flags(
      "cached, thinkpad ssd, disk.profile seq1m_q8t1.read.bandwidth: the device moved 3 MB of 1074 MB asked");
  comparison.add_notes("engine differs: io_uring, threads");
  return comparison;
}

std::string Rendered(const v1::CompareResponse& comparison) {
  std::string text;
  for (const Table& table : ComparisonTables(comparison)) text += RenderTable(table, RenderOptions());
  return text;
}

TEST(ComparisonTablesTest, ShowsMedianSpreadCountBestAndRatio) {
  const std::string text = Rendered(TwoHosts());
  EXPECT_NE(text.find("disk.profile@1"), std::string::npos) << text;
  EXPECT_NE(text.find("mac-pro:ssd"), std::string::npos) << text;
  EXPECT_NE(text.find("500.0 MB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("±2.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00x"), std::string::npos) << text;
  EXPECT_NE(text.find('*'), std::string::npos) << text;
}

TEST(ComparisonTablesTest, SpellsOutFlagsAndNotesUnderTheTable) {
  const std::string text = Rendered(TwoHosts());
  EXPECT_NE(text.find("the device moved 3 MB of 1074 MB asked"), std::string::npos) << text;
  EXPECT_NE(text.find("engine differs: io_uring, threads"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % interval of the median"), std::string::npos) << text;
}

// C-152
// C-028: what lies between the file and the disk is part of the answer.
TEST(ComparisonTablesTest, NamesTheLayersUnderEachColumn) {
  v1::CompareResponse comparison = TwoHosts();
  comparison.mutable_columns(0)->set_stack("ext4 > sda1 > sda");
  comparison.mutable_columns(1)->set_stack("ext4 > dm-crypt > nvme0n1p3 > nvme0n1");
  const std::string text = Rendered(comparison);
  EXPECT_NE(text.find("mac-pro:ssd: /mnt/ssd on ext4 > sda1 > sda (Electra 6G)"), std::string::npos) << text;
  EXPECT_NE(text.find("thinkpad:ssd: /mnt/ssd on ext4 > dm-crypt > nvme0n1p3 > nvme0n1"), std::string::npos) << text;
}

TEST(ComparisonTablesTest, SaysWhyAValueIsMissingAndNeverZero) {
  const std::string text = Rendered(TwoHosts());
  const std::string line = text.substr(text.find("seq1m_q8t1.write.bandwidth"));
  EXPECT_NE(line.substr(0, line.find('\n')).find("skipped"), std::string::npos) << text;
  EXPECT_EQ(line.substr(0, line.find('\n')).find(" 0"), std::string::npos) << text;
}

TEST(ComparisonTablesTest, TellsColumnsOfOneHostApartByTheirRuns) {
  v1::CompareResponse comparison = TwoHosts();
  comparison.mutable_columns(1)->set_host("mac-pro");
  comparison.mutable_columns(1)->set_run_ids(0, 15);
  const std::string text = Rendered(comparison);
  EXPECT_NE(text.find("mac-pro:ssd run 12"), std::string::npos) << text;
  EXPECT_NE(text.find("mac-pro:ssd run 15"), std::string::npos) << text;
}

TEST(ComparisonTablesTest, NamesTheRunsOfAColumnOnce) {
  v1::CompareResponse comparison = TwoHosts();
  for (int i = 0; i < 2; ++i) {
    v1::ComparisonColumn& column = *comparison.add_columns();
    column.set_host("mac-pro");
    column.add_run_ids(3 + i);
  }
  const std::string text = Rendered(comparison);
  EXPECT_NE(text.find("\nmac-pro:ssd: /mnt/ssd (Electra 6G), run 12\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("run 3: run 3"), std::string::npos) << text;
  comparison.mutable_columns()->DeleteSubrange(3, 1);
  EXPECT_NE(Rendered(comparison).find("\nmac-pro: run 3\n"), std::string::npos) << Rendered(comparison);
  comparison.mutable_columns(2)->set_run_ids(0, 12);
  EXPECT_EQ(Rendered(comparison).find("\nmac-pro: run"), std::string::npos) << "its disk's line says so";
}

TEST(ComparisonTablesTest, CsvHasARowPerMetricAndColumnAndEmptyFieldsForUnknown) {
  const auto rows = ParseCsv(RenderCsv(ComparisonCsv(TwoHosts())));
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 5u);
  const std::vector<std::string>& header = rows->front();
  const auto column = [&](const char* name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  EXPECT_EQ((*rows)[2][column("median")], "1000000000");
  EXPECT_EQ((*rows)[2][column("flags")], "cached");
  EXPECT_EQ((*rows)[4][column("median")], "");
  EXPECT_EQ((*rows)[4][column("missing")], "skipped: 20 GiB asked, 3 GiB free");
}

// The columns of disks and those of hosts without one do not mix.
TEST(ComparisonTablesTest, WhatNeedsNoTargetStandsOnceAndWithoutADisk) {
  v1::CompareResponse comparison = TwoHosts();
  for (const char* host : {"mac-pro", "thinkpad"}) comparison.add_columns()->set_host(host);
  for (v1::ComparisonRow& row : *comparison.mutable_rows()) {
    for (int i = 0; i < 2; ++i) row.add_cells()->set_missing_reason("no result");
  }
  v1::ComparisonRow& clock = *comparison.add_rows();
  clock.set_workload("host.clock");
  clock.set_version(1);
  clock.set_metric("cost");
  for (int i = 0; i < 2; ++i) clock.add_cells()->set_missing_reason("no result");
  for (int i = 0; i < 2; ++i) *clock.add_cells() = Measured(5, 4, 6, 3);

  const std::string text = Rendered(comparison);
  const std::string of_clock = text.substr(text.find("host.clock@1"), text.find("cost") - text.find("host.clock@1"));
  EXPECT_NE(of_clock.find("mac-pro "), std::string::npos) << text;
  EXPECT_EQ(of_clock.find(":ssd"), std::string::npos) << text;

  const auto rows = ParseCsv(RenderCsv(ComparisonCsv(comparison)));
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 7u) << "a header, four of the disks, two of the hosts";
  const std::vector<std::string>& header = rows->front();
  const auto column = [&](const char* name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  EXPECT_EQ((*rows)[4][column("target")], "ssd");
  for (const size_t row : {size_t{5}, size_t{6}}) {
    EXPECT_EQ((*rows)[row][column("target")], "");
    EXPECT_EQ((*rows)[row][column("disk")], "");
    EXPECT_EQ((*rows)[row][column("median")], "5");
  }
}

TEST(ComparisonTablesTest, AnEmptyComparisonSaysSo) {
  v1::CompareResponse comparison;
  EXPECT_EQ(Rendered(comparison), "no results\n");
  comparison.add_columns()->set_host("mac-pro");
  comparison.add_columns()->set_host("thinkpad");
  EXPECT_EQ(Rendered(comparison), "no results\n") << "and nothing about how to read them";
}

}  // namespace
}  // namespace fleetmark
