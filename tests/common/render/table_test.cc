#include "common/render/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/render/bar.h"
#include "common/text/text.h"

namespace fleetmark {
namespace {

Table Comparison() {
  Table table;
  table.title = "quick@1, newest results";
  table.columns = {{.header = "metric"},
                   {.header = "mac-pro", .align = Align::kRight, .unit = Unit::kBytesPerSecond},
                   {.header = "thinkpad", .align = Align::kRight, .unit = Unit::kBytesPerSecond}};
  Cell best = Cell::Number(536870912);
  best.mark = "*";
  best.style = Style::kGood;
  Cell cached = Cell::Number(3170.6e6);
  cached.flags = {"cached"};
  table.rows = {{Cell::Text("seq1m_q8t1.read"), best, Cell::Number(100e6)},
                {Cell::Text("seq1m_q8t1.write"), Cell::Number(std::nullopt), cached}};
  table.flag_texts = {{"cached", "the device moved less than was asked"}};
  table.notes = {"* best; 1 MB = 1 000 000 bytes"};
  return table;
}

RenderOptions Ascii(int width = 0) {
  RenderOptions options;
  options.width = width;
  options.utf8 = false;
  return options;
}

int WidestLine(const std::string& text) {
  int widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, DisplayWidth(line));
  return widest;
}

TEST(RenderTableTest, AlignsValuesMarksAndFlags) {
  EXPECT_EQ(RenderTable(Comparison(), Ascii()),
            "quick@1, newest results\n"
            "metric                 mac-pro        thinkpad\n"
            "----------------  ------------  --------------\n"
            "seq1m_q8t1.read   536.9 MB/s *  100.0 MB/s\n"
            "seq1m_q8t1.write           -     3.17 GB/s [a]\n"
            "[a] cached: the device moved less than was asked\n"
            "* best; 1 MB = 1 000 000 bytes\n");
}

TEST(RenderTableTest, FollowsTheUnitFamily) {
  RenderOptions options = Ascii();
  options.units = UnitFamily::kIec;
  EXPECT_NE(RenderTable(Comparison(), options).find("512.0 MiB/s"), std::string::npos);
}

TEST(RenderTableTest, PrintsTheUnknownAsADash) {  // C-152
  Table table;
  table.columns = {{.header = "cores", .align = Align::kRight, .unit = Unit::kCount}, {.header = "link"}};
  table.rows = {{Cell::Number(std::nullopt), Cell{}}, {}};
  EXPECT_EQ(RenderTable(table, Ascii()), "cores  link\n-----  ----\n    -  -\n    -  -\n");
}

TEST(RenderTableTest, CutsTextBeforeNumbers) {  // C-151
  const std::string text = RenderTable(Comparison(), Ascii(44));
  EXPECT_LE(WidestLine(text), 44);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_NE(text.find("536.9 MB/s *"), std::string::npos);
}

TEST(RenderTableTest, SplitsWhatDoesNotFitIntoBlocks) {  // C-151
  Table table;
  table.columns = {{.header = "metric"}};
  for (int i = 0; i < 8; ++i) {
    table.columns.push_back(
        {.header = "host-" + std::to_string(i), .align = Align::kRight, .unit = Unit::kBytesPerSecond});
  }
  std::vector<Cell> row = {Cell::Text("seq1m.read")};
  for (int i = 0; i < 8; ++i) row.push_back(Cell::Number(1e6 * (100 + i)));
  table.rows = {row};
  const std::string text = RenderTable(table, Ascii(40));
  EXPECT_LE(WidestLine(text), 40);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NE(text.find("10" + std::to_string(i) + ".0 MB/s"), std::string::npos) << text;
    EXPECT_NE(text.find("host-" + std::to_string(i)), std::string::npos);
  }
  size_t keys = 0;
  for (size_t at = text.find("seq1m.read"); at != std::string::npos; at = text.find("seq1m.read", at + 1)) ++keys;
  EXPECT_EQ(keys, 4u) << text;
}

TEST(RenderTableTest, BreaksBetweenGroupsOfColumnsWhereThatFits) {
  Table table;
  table.columns = {{.header = "metric"}};
  std::vector<Cell> row = {Cell::Text("seq1m.read")};
  for (const char* host : {"host-0", "host-1", "host-2"}) {
    table.columns.push_back({.header = host, .align = Align::kRight, .unit = Unit::kBytesPerSecond});
    table.columns.push_back({.header = "spread", .align = Align::kRight, .with_previous = true});
    row.push_back(Cell::Number(1e8));
    row.push_back(Cell::Text("+-1.2 %"));
  }
  table.rows = {row};
  // Room for three of the six columns: host-1 goes into the next block with its spread.
  const std::string text = RenderTable(table, Ascii(48));
  EXPECT_NE(text.find("metric          host-0   spread\n"), std::string::npos) << text;
  EXPECT_NE(text.find("metric          host-1   spread\n"), std::string::npos) << text;
  EXPECT_NE(text.find("metric          host-2   spread\n"), std::string::npos) << text;
  // Where a group is wider than the whole, it breaks inside all the same.
  EXPECT_LE(WidestLine(RenderTable(table, Ascii(24))), 24) << RenderTable(table, Ascii(24));
}

TEST(RenderTableTest, LettersOfFlagsAreSorted) {
  Table table;
  table.columns = {{.header = "a"}, {.header = "b"}};
  Cell first = Cell::Text("1");
  first.flags = {"busy", "cached"};
  Cell second = Cell::Text("2");
  second.flags = {"unsynced", "cached", "busy"};
  table.rows = {{first, second}};
  EXPECT_NE(RenderTable(table, Ascii()).find("2 [a,b,c]"), std::string::npos) << RenderTable(table, Ascii());
}

TEST(RenderTableTest, NeverExceedsTheWidth) {  // C-151
  for (int width = 16; width <= 90; ++width) {
    Table table = Comparison();
    table.rows.push_back({Cell::Text("\xE6\xBC\xA2\xE5\xAD\x97 e\xCC\x81 \xF0\x9F\x98\x80 a name that is far too long"),
                          Cell::Number(1), Cell::Number(2)});
    RenderOptions options;
    options.width = width;
    table.flag_texts.clear();
    table.notes.clear();
    EXPECT_LE(WidestLine(RenderTable(table, options)), width) << width << "\n" << RenderTable(table, options);
  }
}

TEST(RenderTableTest, StaysAlignedWithWideCharacters) {  // C-151
  Table table;
  table.columns = {{.header = "host"}, {.header = "n", .align = Align::kRight, .unit = Unit::kCount}};
  for (const char* name : {"plain", "\xE6\xBC\xA2\xE5\xAD\x97", "e\xCC\x81t\xC3\xA9", "\xF0\x9F\x98\x80"}) {
    table.rows.push_back({Cell::Text(name), Cell::Number(7)});
  }
  std::istringstream lines(RenderTable(table, RenderOptions{}));
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(DisplayWidth(line), 8) << line;
}

TEST(RenderTableTest, LetsNoControlCharacterThrough) {
  Table table;
  table.title = "a\x1b[2Jb";
  table.columns = {{.header = "h\r"}};
  Cell cell = Cell::Text("x\ny");
  cell.flags = {"f\x1b"};
  table.rows = {{cell}};
  table.notes = {"n\a"};
  const std::string text = RenderTable(table, RenderOptions{});
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
}

TEST(RenderTableTest, ColorsOnlyWhenAsked) {
  EXPECT_EQ(RenderTable(Comparison(), Ascii()).find('\x1b'), std::string::npos);
  RenderOptions options;
  options.color = true;
  const std::string colored = RenderTable(Comparison(), options);
  EXPECT_NE(colored.find("\x1b[32m536.9 MB/s *\x1b[0m"), std::string::npos);
}

TEST(RenderTableTest, UsesAsciiWhereTheTerminalNeedsIt) {
  Table table;
  table.columns = {{.header = "p99", .align = Align::kRight, .unit = Unit::kSeconds}};
  table.rows = {{Cell::Number(12.3e-6)}};
  EXPECT_EQ(RenderTable(table, Ascii()), "    p99\n-------\n12.3 us\n");
}

TEST(RenderTableTest, WrapsNotes) {
  Table table;
  table.notes = {"one two three four five six seven eight"};
  EXPECT_EQ(RenderTable(table, Ascii(20)), "one two three four\n  five six seven\n  eight\n");
}

TEST(RenderBarTest, HasExactlyItsWidth) {
  for (const double percent : {-5.0, 0.0, 1.0, 50.0, 99.9, 100.0, 250.0}) {
    for (const bool utf8 : {false, true}) EXPECT_EQ(DisplayWidth(RenderBar(percent, 12, utf8)), 12);
  }
  EXPECT_EQ(RenderBar(50, 12, false), "[#####>    ]");
  EXPECT_EQ(RenderBar(100, 12, false), "[##########]");
  EXPECT_EQ(RenderBar(std::nullopt, 12, false), "[          ]");
  EXPECT_EQ(RenderBar(99.9, 12, false), "[#########>]");
}

}  // namespace
}  // namespace fleetmark
