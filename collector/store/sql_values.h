// Values on their way to and from SQL, as text: what both major versions of libpqxx take alike.
//
// Args are the bound parameters of one statement, in order. Row and Rows read a result. Columns are counted from 0; a
// reader that meets NULL where it wants a value throws std::invalid_argument, an error in our own SQL.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace fleetmark::collector {

struct Bytes {  // a bytea parameter
  std::string_view data;
};

namespace sql {

std::string FromText(std::string_view text);    // valid UTF-8 without NUL
std::string FromDouble(double value);           // shortest text that reads back the same
std::string FromBytes(std::string_view bytes);  // \x00ff
std::string ToBytes(std::string_view hex);
std::string FromTime(absl::Time time);  // with microseconds, UTC
std::string FromTextArray(const std::vector<std::string>& values);
std::string FromNumberArray(const std::vector<int64_t>& values);
std::string FromDoubleArray(const std::vector<double>& values);

}  // namespace sql

class Args {
 public:
  Args() = default;
  template <typename... T>
  explicit Args(const T&... values) {
    values_.reserve(sizeof...(values));
    (Add(values), ...);
  }

  template <typename T>
  Args& Add(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      values_.emplace_back(value ? "t" : "f");
    } else if constexpr (std::is_same_v<T, std::nullopt_t>) {
      values_.emplace_back(std::nullopt);
    } else if constexpr (std::is_integral_v<T>) {
      values_.emplace_back(std::to_string(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      values_.emplace_back(sql::FromDouble(value));
    } else if constexpr (std::is_same_v<T, absl::Time>) {
      values_.emplace_back(sql::FromTime(value));
    } else if constexpr (std::is_same_v<T, Bytes>) {
      values_.emplace_back(sql::FromBytes(value.data));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      values_.emplace_back(sql::FromTextArray(value));
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      values_.emplace_back(sql::FromNumberArray(value));
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      values_.emplace_back(sql::FromDoubleArray(value));
    } else {
      values_.emplace_back(sql::FromText(std::string_view(value)));
    }
    return *this;
  }
  template <typename T>
  Args& Add(const std::optional<T>& value) {
    if (value.has_value()) return Add(*value);
    values_.emplace_back(std::nullopt);
    return *this;
  }
  void Append(const Args& other) { values_.insert(values_.end(), other.values_.begin(), other.values_.end()); }

  size_t size() const { return values_.size(); }
  const std::vector<std::optional<std::string>>& values() const { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
};

// One row of a Rows, valid as long as it.
class Row {
 public:
  explicit Row(const std::string_view* cells) : cells_(cells) {}

  bool IsNull(int column) const { return cells_[column].data() == nullptr; }
  std::string_view View(int column) const;

  std::string Text(int column) const { return std::string(View(column)); }
  int64_t Int64(int column) const;
  uint32_t Uint32(int column) const { return static_cast<uint32_t>(Int64(column)); }
  int Int(int column) const { return static_cast<int>(Int64(column)); }
  double Double(int column) const;
  bool Bool(int column) const { return View(column) == "t"; }
  std::string BytesAt(int column) const { return sql::ToBytes(View(column)); }

  std::optional<int64_t> MaybeInt64(int column) const;
  std::optional<double> MaybeDouble(int column) const;
  std::string TextOrEmpty(int column) const { return IsNull(column) ? std::string() : Text(column); }
  std::string BytesOrEmpty(int column) const { return IsNull(column) ? std::string() : BytesAt(column); }

 private:
  const std::string_view* cells_;
};

// What a statement returned. Refers to the client library's memory, which it keeps alive.
class Rows {
 public:
  Rows(std::shared_ptr<const void> memory, std::vector<std::string_view> cells, size_t columns, size_t rows,
       size_t affected)
      : memory_(std::move(memory)), cells_(std::move(cells)), columns_(columns), rows_(rows), affected_(affected) {}

  size_t size() const { return rows_; }
  bool empty() const { return rows_ == 0; }
  size_t affected() const { return affected_; }  // rows that an INSERT, UPDATE or DELETE changed
  Row operator[](size_t row) const { return Row(cells_.data() + row * columns_); }

  class Iterator {
   public:
    Iterator(const Rows* rows, size_t at) : rows_(rows), at_(at) {}
    Row operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Rows* rows_;
    size_t at_;
  };
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, rows_); }

 private:
  std::shared_ptr<const void> memory_;
  std::vector<std::string_view> cells_;
  size_t columns_;
  size_t rows_;
  size_t affected_;
};

}  // namespace fleetmark::collector
