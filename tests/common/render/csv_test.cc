#include <gtest/gtest.h>

#include "common/render/table.h"
#include "tests/common/support/scoped_locale.h"

namespace fleetmark {
namespace {

const std::vector<std::string> kNasty = {"=HYPERLINK(\"http://x\",\"y\")",
                                         "+1",
                                         "-host",
                                         "@x",
                                         "\ttab",
                                         "\rcr",
                                         "a,b",
                                         "\"q\"",
                                         "a\nb",
                                         "'=x",
                                         "'",
                                         "''",
                                         " lead",
                                         "plain",
                                         "M\xC3\xBCller",
                                         "a\r\nb"};

Table TableOf(const std::vector<std::string>& texts) {
  Table table;
  table.columns = {{.header = "name"}, {.header = "value", .align = Align::kRight, .unit = Unit::kBytesPerSecond}};
  for (const std::string& text : texts) table.rows.push_back({Cell::Text(text), Cell::Number(-12.5)});
  return table;
}

TEST(RenderCsvTest, GuardsFormulasAndLeavesNumbersAlone) {  // C-157
  EXPECT_EQ(RenderCsv(TableOf({"=1+1", "-host", "a,b", "say \"hi\""})),
            "name,value_bytes_per_second\r\n"
            "\"'=1+1\",-12.5\r\n"
            "\"'-host\",-12.5\r\n"
            "\"a,b\",-12.5\r\n"
            "\"say \"\"hi\"\"\",-12.5\r\n");
}

TEST(RenderCsvTest, GuardsEveryStartOfAFormula) {  // C-157
  for (const char first : std::string("=+-@\t\r")) {
    const std::string csv = RenderCsv(TableOf({std::string(1, first) + "x"}));
    EXPECT_NE(csv.find(std::string("\r\n\"'") + first + "x\","), std::string::npos) << csv;
  }
}

TEST(RenderCsvTest, ReadsBackTheOriginal) {  // C-157
  for (const bool raw : {false, true}) {
    const CsvOptions options{.raw = raw};
    const auto rows = ParseCsv(RenderCsv(TableOf(kNasty), options), options);
    ASSERT_TRUE(rows.has_value());
    ASSERT_EQ(rows->size(), kNasty.size() + 1);
    for (size_t i = 0; i < kNasty.size(); ++i) {
      ASSERT_EQ((*rows)[i + 1].size(), 2u);
      EXPECT_EQ((*rows)[i + 1][0], kNasty[i]);
      EXPECT_EQ((*rows)[i + 1][1], "-12.5");
    }
  }
}

TEST(RenderCsvTest, RawLeavesFormulas) {  // C-157
  EXPECT_EQ(RenderCsv(TableOf({"=1+1"}), {.raw = true}), "name,value_bytes_per_second\r\n=1+1,-12.5\r\n");
}

TEST(RenderCsvTest, LeavesTheUnknownEmpty) {  // C-152
  Table table;
  table.columns = {
      {.header = "p99 latency", .unit = Unit::kSeconds}, {.header = "link"}, {.header = "n", .unit = Unit::kCount}};
  table.rows = {{Cell::Number(std::nullopt), Cell{}, Cell::Text("skipped")}, {}};
  EXPECT_EQ(RenderCsv(table), "p99_latency_seconds,link,n_count\r\n,,\r\n,,\r\n");
}

TEST(RenderCsvTest, NamesColumnsByUnitAndAddsFlags) {  // C-153
  Table table;
  table.columns = {{.header = "Read (best)", .unit = Unit::kBytesPerSecond, .csv_name = "read", .csv_flags = true},
                   {.header = "shown", .where = Column::Where::kTableOnly},
                   {.header = "hidden", .where = Column::Where::kCsvOnly}};
  Cell cell = Cell::Number(5e8);
  cell.flags = {"cached", "too_short"};
  table.rows = {{cell, Cell::Text("x"), Cell::Text("y")}};
  EXPECT_EQ(RenderCsv(table),
            "read_bytes_per_second,read_bytes_per_second_flags,hidden\r\n500000000,cached;too_short,y\r\n");
  RenderOptions options;
  options.utf8 = false;
  EXPECT_EQ(RenderTable(table, options).find("hidden"), std::string::npos);
}

TEST(RenderCsvTest, DoesNotCareAboutTheLocale) {  // C-154
  const std::string expected = RenderCsv(TableOf(kNasty)) + RenderTable(TableOf(kNasty), RenderOptions{});
  const ScopedLocale locale("de_DE.UTF-8");
  if (!locale.active()) GTEST_SKIP() << "locale de_DE.UTF-8 is neither installed nor can be compiled";
  EXPECT_EQ(RenderCsv(TableOf(kNasty)) + RenderTable(TableOf(kNasty), RenderOptions{}), expected);
}

TEST(ParseCsvTest, RefusesMalformedText) {
  EXPECT_FALSE(ParseCsv("\"open").has_value());
  EXPECT_FALSE(ParseCsv("a\"b\n").has_value());
  EXPECT_FALSE(ParseCsv("\"a\"b\n").has_value());
  EXPECT_FALSE(ParseCsv("a\rb\n").has_value());
  EXPECT_EQ(ParseCsv("a,b\n\"c\",\n")->size(), 2u);
  EXPECT_EQ(ParseCsv("")->size(), 0u);
}

}  // namespace
}  // namespace fleetmark
