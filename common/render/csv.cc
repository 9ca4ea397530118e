#include <cstddef>
#include <string>
#include <string_view>

#include "common/render/table.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark {
namespace {

// What a spreadsheet takes for the start of a formula; and the apostrophe itself, so that taking one off again always
// gives what was there.
constexpr std::string_view kGuarded = "=+-@\t\r'";

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string TextField(std::string_view text, const CsvOptions& options) {
  const std::string clean = CleanUtf8(text);
  if (clean.empty()) return "";
  if (!options.raw && kGuarded.find(clean.front()) != std::string_view::npos) return Quoted("'" + clean);
  const bool plain = clean.find_first_of(",\"\r\n") == std::string::npos && clean.front() != ' ' && clean.back() != ' ';
  return plain ? clean : Quoted(clean);
}

std::string NameOf(const Column& column) {
  std::string name = column.csv_name;
  if (name.empty()) {
    for (const char c : column.header) {
      const bool upper = c >= 'A' && c <= 'Z';
      const bool plain = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (plain) {
        name += upper ? static_cast<char>(c - 'A' + 'a') : c;
      } else if (!name.empty() && name.back() != '_') {
        name += '_';
      }
    }
    while (!name.empty() && name.back() == '_') name.pop_back();
  }
  const std::string unit(UnitName(column.unit.value_or(Unit::kNone)));
  if (!unit.empty() && !name.ends_with(unit)) name += (name.empty() ? "" : "_") + unit;
  return name.empty() ? "column" : name;
}

std::string Field(const Cell& cell, const Column& column, const CsvOptions& options) {
  if (cell.number.has_value()) return FormatNumber(cell.number);
  // In a column of numbers, text alone is for people ("skipped"): a program gets an empty field.
  if (!cell.text.has_value() || column.unit.has_value()) return "";
  return TextField(*cell.text, options);
}

std::string Flags(const Cell& cell, const CsvOptions& options) {
  std::string joined;
  for (const std::string& flag : cell.flags) joined += (joined.empty() ? "" : ";") + flag;
  return TextField(joined, options);
}

}  // namespace

std::string RenderCsv(const Table& table, const CsvOptions& options) {
  std::string out;
  const auto line = [&](auto&& field, auto&& flags) {
    bool first = true;
    const auto put = [&](const std::string& text) {
      if (!first) out += ',';
      first = false;
      out += text;
    };
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].where == Column::Where::kTableOnly) continue;
      put(field(c));
      if (table.columns[c].csv_flags) put(flags(c));
    }
    out += "\r\n";
  };
  line([&](size_t c) { return TextField(NameOf(table.columns[c]), options); },
       [&](size_t c) { return TextField(NameOf(table.columns[c]) + "_flags", options); });
  for (const std::vector<Cell>& row : table.rows) {
    const auto cell = [&](size_t c) { return c < row.size() ? row[c] : Cell{}; };
    line([&](size_t c) { return Field(cell(c), table.columns[c], options); },
         [&](size_t c) { return Flags(cell(c), options); });
  }
  return out;
}

std::optional<std::vector<std::vector<std::string>>> ParseCsv(const std::string& csv, const CsvOptions& options) {
  std::vector<std::vector<std::string>> rows;
  size_t i = 0;
  while (i < csv.size()) {
    std::vector<std::string> row;
    bool row_ends = false;
    while (!row_ends) {
      std::string field;
      const bool quoted = i < csv.size() && csv[i] == '"';
      if (quoted) {
        for (++i;; ++i) {
          if (i >= csv.size()) return std::nullopt;  // the quote is never closed
          if (csv[i] != '"') {
            field += csv[i];
          } else if (i + 1 < csv.size() && csv[i + 1] == '"') {
            field += csv[i++];
          } else {
            break;
          }
        }
        ++i;
      } else {
        while (i < csv.size() && csv[i] != ',' && csv[i] != '\r' && csv[i] != '\n') {
          if (csv[i] == '"') return std::nullopt;
          field += csv[i++];
        }
      }
      if (quoted && !options.raw && field.size() > 1 && field[0] == '\'' &&
          kGuarded.find(field[1]) != std::string_view::npos) {
        field.erase(0, 1);
      }
      row.push_back(std::move(field));
      if (i < csv.size() && csv[i] == ',') {
        ++i;
        continue;
      }
      if (i < csv.size() && csv[i] == '\r') ++i;
      if (i < csv.size() && csv[i++] != '\n') return std::nullopt;
      row_ends = true;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fleetmark
