#include "common/render/table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/render/ascii.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark {
namespace {

constexpr int kGap = 2;              // between columns
constexpr int kNarrowestText = 12;   // text columns are cut down to this before the table is split
constexpr int kNarrowestColumn = 4;  // room for one character and "..."

std::string Spaces(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }

std::string_view ColorOf(Style style) {
  switch (style) {
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kNormal:
      break;
  }
  return "";
}

// "a" ... "z", "aa", "ab" ...
std::string LetterOf(size_t index) {
  std::string letters(1, static_cast<char>('a' + index % 26));
  return index < 26 ? letters : LetterOf(index / 26 - 1) + letters;
}

struct Printed {
  std::string value;
  std::string suffix;  // mark and flags, in a field of their own so that the values stay aligned
  Style style = Style::kNormal;
};

struct PrintedColumn {
  std::string header;
  Align align = Align::kLeft;
  std::vector<Printed> cells;
  int value_width = 0;
  int suffix_width = 0;  // with the space before it; 0 if no cell has one
  int width = 0;         // what it is given
  bool with_previous = false;

  int natural_width() const { return std::max(value_width + suffix_width, DisplayWidth(header)); }
};

class Printer {
 public:
  Printer(const Table& table, const RenderOptions& options) : table_(table), options_(options) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].where != Column::Where::kCsvOnly) columns_.push_back(MakeColumn(c));
    }
  }

  std::string Print() {
    if (!table_.title.empty()) Wrap(Safe(table_.title), "");
    if (!columns_.empty()) {
      bool first = true;
      for (const std::vector<size_t>& block : Fit()) {
        if (!first) out_ += '\n';
        first = false;
        PrintBlock(block);
      }
    }
    for (size_t i = 0; i < flags_.size(); ++i) {
      const auto text = table_.flag_texts.find(flags_[i]);
      std::string line = "[" + LetterOf(i) + "] " + flags_[i];
      if (text != table_.flag_texts.end() && !text->second.empty()) line += ": " + text->second;
      Wrap(Safe(line), "    ");
    }
    for (const std::string& note : table_.notes) Wrap(Safe(note), "  ");
    return std::move(out_);
  }

 private:
  std::string Safe(std::string_view text) const {
    std::string safe = EscapeForTerminal(text);
    return options_.utf8 ? safe : internal::ToAscii(safe);
  }

  std::string FlagLetters(const Cell& cell) {
    std::set<size_t> indices;  // in the order of the letters, whatever the order of the flags
    for (const std::string& flag : cell.flags) {
      const auto known = std::find(flags_.begin(), flags_.end(), flag);
      indices.insert(static_cast<size_t>(known - flags_.begin()));
      if (known == flags_.end()) flags_.push_back(flag);
    }
    std::string letters;
    for (const size_t index : indices) letters += (letters.empty() ? "[" : ",") + LetterOf(index);
    return letters.empty() ? "" : letters + "]";
  }

  PrintedColumn MakeColumn(size_t c) {
    const Column& column = table_.columns[c];
    PrintedColumn printed;
    printed.header = Safe(column.header);
    printed.align = column.align;
    printed.with_previous = column.with_previous;
    for (const std::vector<Cell>& row : table_.rows) {
      const Cell cell = c < row.size() ? row[c] : Cell{};
      Printed entry;
      entry.style = cell.style;
      entry.value = Safe(
          cell.text.has_value()
              ? *cell.text
              : FormatQuantity(cell.number, cell.unit.value_or(column.unit.value_or(Unit::kNone)), options_.units));
      entry.suffix = Safe(cell.mark);
      if (const std::string letters = FlagLetters(cell); !letters.empty()) {
        entry.suffix += (entry.suffix.empty() ? "" : " ") + letters;
      }
      printed.value_width = std::max(printed.value_width, DisplayWidth(entry.value));
      if (!entry.suffix.empty()) printed.suffix_width = std::max(printed.suffix_width, DisplayWidth(entry.suffix) + 1);
      printed.cells.push_back(std::move(entry));
    }
    printed.width = printed.natural_width();
    return printed;
  }

  int TotalWidth() const {
    int total = -kGap;
    for (const PrintedColumn& column : columns_) total += column.width + kGap;
    return total;
  }

  // Gives every column its width; the result lists the columns of each block.
  std::vector<std::vector<size_t>> Fit() {
    std::vector<size_t> all(columns_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (options_.width <= 0 || TotalWidth() <= options_.width) return {all};

    while (TotalWidth() > options_.width) {  // the widest text column gives way first
      PrintedColumn* widest = nullptr;
      for (PrintedColumn& column : columns_) {
        if (column.align == Align::kLeft && column.width > kNarrowestText &&
            (widest == nullptr || column.width > widest->width)) {
          widest = &column;
        }
      }
      if (widest == nullptr) break;
      --widest->width;
    }
    if (TotalWidth() <= options_.width) return {all};

    PrintedColumn& key = columns_[0];
    key.width =
        std::min(key.natural_width(), std::max(std::min(kNarrowestText, options_.width / 2 - 1), options_.width / 3));
    const int room = options_.width - key.width - kGap;
    for (size_t c = 1; c < columns_.size(); ++c) {
      columns_[c].width = std::min(columns_[c].natural_width(), std::max(room, kNarrowestColumn));
    }
    std::vector<std::vector<size_t>> blocks;
    int used = options_.width;
    for (size_t c = 1; c < columns_.size(); ++c) {
      const PrintedColumn& column = columns_[c];
      int needed = column.width;
      if (!column.with_previous || blocks.empty()) {
        int together = column.width;
        for (size_t next = c + 1; next < columns_.size() && columns_[next].with_previous; ++next) {
          together += kGap + columns_[next].width;
        }
        if (together <= room) needed = together;
      }
      if (used + kGap + needed > options_.width) {
        blocks.push_back({0});
        used = key.width;
      }
      blocks.back().push_back(c);
      used += kGap + column.width;
    }
    if (blocks.empty()) {
      key.width = std::max(options_.width, kNarrowestColumn);
      blocks.push_back({0});
    }
    return blocks;
  }

  // `text` in a field of the column's width.
  static std::string Aligned(const PrintedColumn& column, const std::string& text) {
    const std::string cut = TruncateToWidth(text, column.width);
    const std::string padding = Spaces(column.width - DisplayWidth(cut));
    return column.align == Align::kRight ? padding + cut : cut + padding;
  }

  static std::string CellText(const PrintedColumn& column, const Printed& cell) {
    if (column.align == Align::kLeft || column.suffix_width == 0) {
      return Aligned(column, cell.suffix.empty() ? cell.value : cell.value + " " + cell.suffix);
    }
    std::string suffix = cell.suffix.empty() ? "" : " " + cell.suffix;
    suffix += Spaces(column.suffix_width - DisplayWidth(suffix));
    return Aligned(column, cell.value + suffix);
  }

  void Colored(const std::string& field, std::string_view color) {
    // Only the text is coloured, not its padding.
    const size_t begin = field.find_first_not_of(' ');
    if (!options_.color || color.empty() || begin == std::string::npos) {
      out_ += field;
      return;
    }
    const size_t end = field.find_last_not_of(' ') + 1;
    out_.append(field, 0, begin).append(color).append(field, begin, end - begin).append("\x1b[0m").append(field, end);
  }

  void EndLine() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }

  void PrintBlock(const std::vector<size_t>& block) {
    const auto line = [&](auto&& print_field) {
      for (const size_t c : block) {
        if (c != block.front()) out_ += Spaces(kGap);
        print_field(columns_[c]);
      }
      EndLine();
    };
    line([&](const PrintedColumn& column) { Colored(Aligned(column, column.header), "\x1b[1m"); });
    line([&](const PrintedColumn& column) {
      for (int i = 0; i < column.width; ++i) out_ += options_.utf8 ? "\xE2\x94\x80" : "-";
    });
    for (size_t r = 0; r < table_.rows.size(); ++r) {
      line([&](const PrintedColumn& column) {
        Colored(CellText(column, column.cells[r]), ColorOf(column.cells[r].style));
      });
    }
  }

  // One paragraph, broken at spaces; further lines start with `indent`.
  void Wrap(std::string_view text, std::string_view indent) {
    int used = 0;
    bool at_start = true;
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const int width = DisplayWidth(word);
      if (!at_start && options_.width > 0 && used + 1 + width > options_.width) {
        EndLine();
        out_ += indent;
        used = static_cast<int>(indent.size());
        at_start = true;
      }
      if (!at_start) {
        out_ += ' ';
        ++used;
      }
      out_ += word;
      used += width;
      at_start = false;
    }
    EndLine();
  }

  const Table& table_;
  const RenderOptions& options_;
  std::vector<PrintedColumn> columns_;
  std::vector<std::string> flags_;  // in the order of their letters
  std::string out_;
};

}  // namespace

Cell Cell::Text(std::string value) {
  Cell cell;
  cell.text = std::move(value);
  return cell;
}

Cell Cell::Number(std::optional<double> value, std::optional<Unit> unit) {
  Cell cell;
  cell.number = value;
  cell.unit = unit;
  return cell;
}

std::string RenderTable(const Table& table, const RenderOptions& options) { return Printer(table, options).Print(); }

}  // namespace fleetmark
