// The form a histogram is sent and stored in. All numbers are varints (7 bits a byte, lowest first):
//
//   version (1), sub-bucket bits (7), clock anomalies, count, and if count > 0:
//   min, max - min, sum high, sum low, then for each bucket in use, ascending:
//   its distance from the one before (the first: from -1), its count
//
// The form is canonical: shortest varints, buckets in use only, nothing after the last.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/histogram/histogram.h"

namespace fleetmark {
namespace {

constexpr uint64_t kVersion = 1;
constexpr size_t kMostBytes = 20 * LatencyHistogram::kBuckets;
// Counters stay far from wrapping, also when the histograms of a whole fleet are merged.
constexpr uint64_t kMostCount = uint64_t{1} << 53;

void PutVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  // After the first fault everything is 0 and failed() is true.
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && position_ < bytes_.size(); shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(bytes_[position_++]);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift > 0) break;  // not the shortest form
        return value;
      }
    }
    failed_ = true;
    position_ = bytes_.size();
    return 0;
  }
  bool done() const { return position_ == bytes_.size(); }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
  bool failed_ = false;
};

absl::Status Wrong(std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a latency histogram: ", std::string(why)));
}

}  // namespace

std::string LatencyHistogram::Serialize() const {
  std::string out;
  PutVarint(kVersion, out);
  PutVarint(kSubBucketBits, out);
  PutVarint(clock_anomalies_, out);
  PutVarint(count_, out);
  if (count_ == 0) return out;
  PutVarint(min_, out);
  PutVarint(max_ - min_, out);
  PutVarint(sum_high_, out);
  PutVarint(sum_low_, out);
  size_t next = 0;  // one past the last bucket written
  for (size_t i = BucketOf(min_); i <= BucketOf(max_); ++i) {
    if (counts_[i] == 0) continue;
    PutVarint(i + 1 - next, out);
    PutVarint(counts_[i], out);
    next = i + 1;
  }
  return out;
}

absl::StatusOr<LatencyHistogram> LatencyHistogram::Deserialize(std::string_view bytes) {
  if (bytes.empty()) return Wrong("no bytes");
  if (bytes.size() > kMostBytes) return Wrong(absl::StrCat(bytes.size(), " bytes are too many"));
  Reader reader(bytes);
  if (const uint64_t version = reader.Varint(); version != kVersion) {
    return Wrong(absl::StrCat("version ", version, " is unknown; a newer program wrote it"));
  }
  if (const uint64_t bits = reader.Varint(); bits != kSubBucketBits) {
    return Wrong(absl::StrCat(bits, " sub-bucket bits instead of ", kSubBucketBits));
  }
  LatencyHistogram histogram;
  histogram.clock_anomalies_ = reader.Varint();
  histogram.count_ = reader.Varint();
  if (reader.failed()) return Wrong("it is cut off");
  if (histogram.count_ > kMostCount || histogram.clock_anomalies_ > kMostCount) return Wrong("it has too many samples");
  if (histogram.count_ == 0) {
    if (!reader.done()) return Wrong("bytes follow its end");
    return histogram;
  }
  histogram.min_ = reader.Varint();
  const uint64_t range = reader.Varint();
  histogram.sum_high_ = reader.Varint();
  histogram.sum_low_ = reader.Varint();
  if (reader.failed()) return Wrong("it is cut off");
  constexpr uint64_t kLongest = static_cast<uint64_t>(INT64_MAX);
  if (histogram.min_ > kLongest || range > kLongest - histogram.min_) return Wrong("its extremes are out of range");
  histogram.max_ = histogram.min_ + range;

  uint64_t counted = 0;
  size_t next = 0;
  double least_sum = 0;
  double most_sum = 0;
  while (counted < histogram.count_) {
    const uint64_t distance = reader.Varint();
    const uint64_t count = reader.Varint();
    if (reader.failed()) return Wrong("it is cut off");
    if (distance == 0 || distance > kBuckets - next) return Wrong("a bucket is out of range");
    if (count == 0 || count > histogram.count_ - counted) return Wrong("its buckets do not add up to its count");
    next += static_cast<size_t>(distance);
    if (counted == 0 && next - 1 != BucketOf(histogram.min_)) return Wrong("its minimum is not in its first bucket");
    histogram.counts_[next - 1] = count;
    counted += count;
    const Bucket bounds = BoundsOf(next - 1);
    least_sum += static_cast<double>(bounds.low_ns) * static_cast<double>(count);
    most_sum += static_cast<double>(bounds.high_ns) * static_cast<double>(count);
  }
  if (next - 1 != BucketOf(histogram.max_)) return Wrong("its maximum is not in its last bucket");
  if (!reader.done()) return Wrong("bytes follow its end");
  const double sum = std::ldexp(static_cast<double>(histogram.sum_high_), 64) + static_cast<double>(histogram.sum_low_);
  constexpr double kRounding = 1e-9;
  if (sum < least_sum * (1 - kRounding) || sum > most_sum * (1 + kRounding)) {
    return Wrong("its sum does not fit its buckets");
  }
  return histogram;
}

}  // namespace fleetmark
