#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "common/histogram/histogram.h"

namespace fleetmark {
namespace {

LatencyHistogram Typical(unsigned seed, int samples) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latency(11, 0.7);  // around 60 µs
  LatencyHistogram histogram;
  for (int i = 0; i < samples; ++i) histogram.Record(static_cast<int64_t>(latency(random)));
  histogram.Record(-5);
  return histogram;
}

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string Bytes(std::initializer_list<uint64_t> values) {
  std::string out;
  for (const uint64_t value : values) out += Varint(value);
  return out;
}

TEST(SerializeTest, ReadsBackWhatItWrote) {
  for (const int samples : {0, 1, 2, 1000, 200000}) {
    const LatencyHistogram histogram = Typical(1, samples);
    const std::string bytes = histogram.Serialize();
    const absl::StatusOr<LatencyHistogram> read = LatencyHistogram::Deserialize(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == histogram);
    EXPECT_EQ(read->Serialize(), bytes);
  }
}

TEST(SerializeTest, ReadsBackExtremes) {
  LatencyHistogram histogram;
  histogram.Record(0);
  histogram.Record(INT64_MAX);
  histogram.Record(INT64_MAX);
  histogram.Record(INT64_MAX);
  const absl::StatusOr<LatencyHistogram> read = LatencyHistogram::Deserialize(histogram.Serialize());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == histogram);
}

TEST(SerializeTest, IsSmall) {
  const size_t size = Typical(2, 1000000).Serialize().size();
  EXPECT_LT(size, 3500u);
  EXPECT_LT(LatencyHistogram().Serialize().size(), 8u);
}

TEST(DeserializeTest, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no bytes"},
      {Bytes({2}), "version 2"},
      {Bytes({1, 5}), "5 sub-bucket bits"},
      {Bytes({1, 7, 0}), "cut off"},
      {Bytes({1, 7, 0, 0, 0}), "bytes follow"},
      {Bytes({1, 7, 0, uint64_t{1} << 60}), "too many samples"},
      {Bytes({1, 7, 0, 1, 5}), "cut off"},
      {Bytes({1, 7, 0, 1, uint64_t{1} << 63, 0, 0, 5, 6, 1}), "extremes"},
      {Bytes({1, 7, 0, 1, 5, INT64_MAX, 0, 5, 6, 1}), "extremes"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, 0, 1}), "bucket is out of range"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, LatencyHistogram::kBuckets + 1, 1}), "bucket is out of range"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, UINT64_MAX, 1}), "bucket is out of range"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, 6, 2}), "do not add up"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, 6, 0}), "do not add up"},
      {Bytes({1, 7, 0, 1, 4, 0, 0, 5, 6, 1}), "minimum"},
      {Bytes({1, 7, 0, 1, 5, 3, 0, 5, 6, 1}), "maximum"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 6, 6, 1}), "sum"},
      {Bytes({1, 7, 0, 1, 5, 0, 9, 5, 6, 1}), "sum"},
      {Bytes({1, 7, 0, 1, 5, 0, 0, 5, 6, 1, 1}), "bytes follow"},
      {std::string("\x01\x87\x00", 3), "sub-bucket bits"},  // a varint longer than needed
      {std::string(11, '\xFF'), "version"},
      {std::string(1 << 20, '\x01'), "too many"},
  };
  for (const auto& [bytes, expected] : cases) {
    const absl::StatusOr<LatencyHistogram> read = LatencyHistogram::Deserialize(bytes);
    ASSERT_FALSE(read.ok()) << expected;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(read.status().message().find(expected), std::string::npos) << read.status();
  }
  EXPECT_TRUE(LatencyHistogram::Deserialize(Bytes({1, 7, 0, 1, 5, 0, 0, 5, 6, 1})).ok());
}

TEST(DeserializeTest, RefusesEveryPrefix) {
  const std::string bytes = Typical(3, 500).Serialize();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(LatencyHistogram::Deserialize(bytes.substr(0, length)).ok()) << length;
  }
}

TEST(DeserializeTest, WhatItAcceptsIsConsistent) {
  std::mt19937_64 random(4);
  const std::string bytes = Typical(5, 300).Serialize();
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string damaged = bytes;
    for (uint64_t i = 0; i <= random() % 2; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const absl::StatusOr<LatencyHistogram> read = LatencyHistogram::Deserialize(damaged);
    if (!read.ok()) continue;
    ++accepted;
    ASSERT_EQ(read->Serialize(), damaged);
    if (read->count() == 0) continue;
    ASSERT_LE(*read->mean_seconds(), *read->max_seconds());
    ASSERT_LE(*read->Percentile(50).seconds, *read->max_seconds());
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace fleetmark
