#include "collector/store/bulk_insert.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {

void BulkInsert::Add(const Args& row) {
  constexpr size_t kMostParameters = 20000;  // the protocol takes 65535
  if (args_.size() + row.size() > kMostParameters || rows_ == 500) Flush();
  absl::StrAppend(&values_, rows_ == 0 ? "(" : ", (");
  for (size_t i = 0; i < row.size(); ++i) absl::StrAppend(&values_, i == 0 ? "$" : ", $", args_.size() + i + 1);
  values_ += ')';
  args_.Append(row);
  ++rows_;
}

void BulkInsert::Flush() {
  if (rows_ == 0) return;
  transaction_.Exec(absl::StrCat("INSERT INTO ", into_, " VALUES ", values_, " ", suffix_), args_);
  values_.clear();
  args_ = Args();
  rows_ = 0;
}

std::string NewUuid() {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::runtime_error("no random numbers");
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string out;
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace fleetmark::collector
