// Table: rows and columns of plain values, and how they are printed for people (RenderTable) and for programs
// (RenderCsv). Pure functions. Text from outside may stand in any cell: it is made safe here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/units/units.h"

namespace fleetmark {

enum class Align { kLeft, kRight };
enum class Style { kNormal, kGood, kBad, kWarning, kDim };

// One value. `text` alone is text. `number` alone is printed in its unit. With both, people see the text and programs
// the number. Neither: unknown, "-" for people and an empty field for programs, never 0.
struct Cell {
  std::optional<std::string> text;
  std::optional<double> number;
  std::optional<Unit> unit;        // of the number; the column's if absent
  std::string mark;                // follows the value in the table, such as "*" for the best
  std::vector<std::string> flags;  // reasons to doubt it, such as "cached": a letter here, spelled out under the table
  Style style = Style::kNormal;

  static Cell Text(std::string value);
  static Cell Number(std::optional<double> value, std::optional<Unit> unit = std::nullopt);
};

struct Column {
  enum class Where { kEverywhere, kTableOnly, kCsvOnly };

  std::string header;
  Align align = Align::kLeft;
  std::optional<Unit> unit{};  // of its numbers; CSV puts it into the column's name
  std::string csv_name{};      // "" = the header in lower_case_with_underscores
  bool csv_flags = false;      // CSV gets a further column <name>_flags with the cells' flags, joined by ";"
  Where where = Where::kEverywhere;
  bool with_previous = false;  // stays in one block with the column before it where there is room (a value's spread)
};

struct Table {
  std::string title{};  // a line above; may be ""
  std::vector<Column> columns{};
  std::vector<std::vector<Cell>> rows{};            // a row shorter than `columns` is filled with unknown
  std::map<std::string, std::string> flag_texts{};  // what a flag means; a flag that is not here is shown by itself
  std::vector<std::string> notes{};                 // lines under the table
};

struct RenderOptions {
  int width = 0;  // columns of the terminal; 0 = as wide as it gets
  bool color = false;
  bool utf8 = true;
  UnitFamily units = UnitFamily::kDecimal;
};

// Aligned by display width. If it does not fit: left-aligned columns are cut with "...", then the columns are split
// into several blocks under each other that repeat the first column. Ends in a newline.
std::string RenderTable(const Table& table, const RenderOptions& options);

struct CsvOptions {
  // Leaves text that a spreadsheet would take for a formula as it is; otherwise it gets a leading apostrophe.
  bool raw = false;
};

// RFC 4180 with a header line; lines end in CR LF. Numbers in base units as the shortest exact text.
std::string RenderCsv(const Table& table, const CsvOptions& options = {});

// Reads what RenderCsv wrote, the apostrophes taken off again (unless raw). For imports and tests; absent if malformed.
std::optional<std::vector<std::vector<std::string>>> ParseCsv(const std::string& csv, const CsvOptions& options = {});

}  // namespace fleetmark
