#include "common/units/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>

namespace fleetmark {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(FormatQuantityTest, PrintsSizesAndRates) {
  EXPECT_EQ(FormatQuantity(536870912, Unit::kBytesPerSecond), "536.9 MB/s");
  EXPECT_EQ(FormatQuantity(536870912, Unit::kBytesPerSecond, UnitFamily::kIec), "512.0 MiB/s");
  EXPECT_EQ(FormatQuantity(1000204886016, Unit::kBytes), "1.00 TB");
  EXPECT_EQ(FormatQuantity(1000204886016, Unit::kBytes, UnitFamily::kIec), "931.5 GiB");
  EXPECT_EQ(FormatQuantity(8589934592, Unit::kBytes, UnitFamily::kIec), "8 GiB");
  EXPECT_EQ(FormatQuantity(512, Unit::kBytes), "512 B");
  EXPECT_EQ(FormatQuantity(0, Unit::kBytes), "0 B");
  EXPECT_EQ(FormatQuantity(0, Unit::kBytesPerSecond), "0 B/s");
  EXPECT_EQ(FormatQuantity(4096, Unit::kBytes, UnitFamily::kIec), "4 KiB");
  EXPECT_EQ(FormatQuantity(-1500000, Unit::kBytes), "-1.50 MB");
}

TEST(FormatQuantityTest, RollsOverToTheNextPrefixWhenRoundingDoes) {
  EXPECT_EQ(FormatQuantity(999.96e6, Unit::kBytesPerSecond), "1.00 GB/s");
  EXPECT_EQ(FormatQuantity(999.94e6, Unit::kBytesPerSecond), "999.9 MB/s");
  EXPECT_EQ(FormatQuantity(9.996e6, Unit::kBytesPerSecond), "10.0 MB/s");
  EXPECT_EQ(FormatQuantity(1023.97 * 1024, Unit::kBytesPerSecond, UnitFamily::kIec), "1.00 MiB/s");
}

TEST(FormatQuantityTest, PrintsTheOtherUnits) {
  EXPECT_EQ(FormatQuantity(12.3e-6, Unit::kSeconds), "12.3 \xC2\xB5s");
  EXPECT_EQ(FormatQuantity(4e-9, Unit::kSeconds), "4.00 ns");
  EXPECT_EQ(FormatQuantity(0.25, Unit::kSeconds), "250.0 ms");
  EXPECT_EQ(FormatQuantity(94.396, Unit::kSeconds), "94.4 s");
  EXPECT_EQ(FormatQuantity(3600, Unit::kSeconds), "1 h");
  EXPECT_EQ(FormatQuantity(0, Unit::kSeconds), "0 s");
  EXPECT_EQ(FormatQuantity(51234, Unit::kOperationsPerSecond), "51.2 k/s");
  EXPECT_EQ(FormatQuantity(312.44, Unit::kOperationsPerSecond), "312.4 /s");
  EXPECT_EQ(FormatQuantity(0.05, Unit::kOperationsPerSecond), "0.050 /s");
  EXPECT_EQ(FormatQuantity(4000, Unit::kCount), "4000");
  EXPECT_EQ(FormatQuantity(51234, Unit::kCount), "51.2 k");
  EXPECT_EQ(FormatQuantity(3752, Unit::kScore), "3752");
  EXPECT_EQ(FormatQuantity(0.999, Unit::kRatio), "0.999");
  EXPECT_EQ(FormatQuantity(42, Unit::kPercent), "42.0 %");
  EXPECT_EQ(FormatQuantity(2.4e9, Unit::kHertz), "2.40 GHz");
  EXPECT_EQ(FormatQuantity(6e9, Unit::kBitsPerSecond), "6.0 Gbit/s");
  EXPECT_EQ(FormatQuantity(45.5, Unit::kCelsius),
            "45.5 \xC2\xB0"
            "C");
  EXPECT_EQ(FormatQuantity(12.5, Unit::kNone), "12.5");
  EXPECT_EQ(FormatQuantity(7, Unit::kNone), "7");
}

TEST(FormatQuantityTest, PrintsADashForTheUnknownNeverZero) {  // C-152
  EXPECT_EQ(FormatQuantity(std::nullopt, Unit::kBytes), "-");
  EXPECT_EQ(FormatQuantity(kNan, Unit::kBytes), "-");
  EXPECT_EQ(FormatQuantity(kInf, Unit::kSeconds), "-");
  EXPECT_EQ(FormatBoth(std::nullopt, Unit::kBytes), "-");
  EXPECT_EQ(FormatRatio(std::nullopt), "-");
  EXPECT_EQ(FormatRatio(kNan), "-");
  EXPECT_EQ(FormatNumber(std::nullopt), "");
  EXPECT_EQ(FormatNumber(kNan), "");
}

TEST(FormatBothTest, ShowsBothFamilies) {  // C-153
  EXPECT_EQ(FormatBoth(536870912, Unit::kBytesPerSecond), "536.9 MB/s (512.0 MiB/s)");
  EXPECT_EQ(FormatBoth(1000204886016, Unit::kBytes), "1.00 TB (931.5 GiB)");
  EXPECT_EQ(FormatBoth(536870912, Unit::kBytesPerSecond, UnitFamily::kIec), "512.0 MiB/s (536.9 MB/s)");
  EXPECT_EQ(FormatBoth(6e9, Unit::kBitsPerSecond), "6.0 Gbit/s");
  EXPECT_EQ(FormatBoth(12, Unit::kBytes), "12 B");
}

TEST(FormatNumberTest, IsExactAndShort) {
  EXPECT_EQ(FormatNumber(-12.5), "-12.5");
  EXPECT_EQ(FormatNumber(536870912.0), "536870912");
  EXPECT_EQ(FormatNumber(-0.0), "0");
  EXPECT_EQ(FormatNumber(0.1), "0.1");
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 200);
    EXPECT_EQ(std::strtod(FormatNumber(value).c_str(), nullptr), value);
  }
}

TEST(FormatRatioTest, HasDirectionNeutralWords) {  // C-039
  EXPECT_EQ(FormatRatio(760.0 / 1680), "0.45x");
  EXPECT_EQ(FormatRatio(840.0 / 1680), "0.50x");
  EXPECT_EQ(FormatRatio(1816.0 / 1680), "1.08x");
  EXPECT_EQ(FormatRatio(12.04), "12.0x");
  EXPECT_EQ(FormatRatio(26000), "26000x");
  EXPECT_EQ(FormatRatio(0.0123), "0.012x");
}

TEST(FormatDurationTest, IsNeverNegativeNorAbsurd) {  // C-164
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(80)), "1 min 20 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(45)), "45 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(59.7)), "1 min");
  EXPECT_EQ(FormatTimeSpan(absl::Minutes(125)), "2 h 05 min");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(76)), "3 d 04 h");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(2)), "2 h");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(24)), "1 d");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(-5)), "0 s");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(24) * 1158048815.0), "> 99 d");
  EXPECT_EQ(FormatTimeSpan(absl::InfiniteDuration()), "-");
  EXPECT_EQ(FormatTimeSpan(-absl::InfiniteDuration()), "-");
  EXPECT_EQ(FormatTimeSpan(std::nullopt), "-");
}

TEST(EstimateTimeLeftTest, IsAbsentUntilItCanBeTold) {  // C-164
  EXPECT_FALSE(EstimateTimeLeft(0, absl::Seconds(100)).has_value());
  EXPECT_FALSE(EstimateTimeLeft(0.5, absl::Milliseconds(10)).has_value());
  EXPECT_FALSE(EstimateTimeLeft(0.5, absl::Seconds(-100)).has_value());
  EXPECT_FALSE(EstimateTimeLeft(kNan, absl::Seconds(100)).has_value());
  EXPECT_EQ(*EstimateTimeLeft(0.25, absl::Seconds(30)), absl::Seconds(90));
  EXPECT_EQ(*EstimateTimeLeft(1.5, absl::Seconds(30)), absl::ZeroDuration());
  EXPECT_LE(*EstimateTimeLeft(0.01, absl::Hours(100000)), absl::Hours(24 * 99));
}

TEST(FormatTimestampTest, CarriesItsOffset) {  // C-161
  const absl::Time time = absl::FromCivil(absl::CivilSecond(2026, 5, 1, 12, 0, 0), absl::UTCTimeZone());
  EXPECT_EQ(FormatTimestamp(time, absl::FixedTimeZone(7200)), "2026-05-01 14:00:00 +02:00");
  EXPECT_EQ(FormatTimestamp(time, absl::FixedTimeZone(-18000)), "2026-05-01 07:00:00 -05:00");
  EXPECT_EQ(FormatTimestamp(absl::InfiniteFuture(), absl::UTCTimeZone()), "-");
  EXPECT_EQ(FormatTimestampUtc(time + absl::Milliseconds(123)), "2026-05-01T12:00:00.123Z");
  EXPECT_EQ(FormatTimestampUtc(absl::InfinitePast()), "-");
}

TEST(FormatTimestampTest, KnowsZonesWithOddOffsetsAndSummerTime) {  // C-161
  absl::TimeZone chatham;
  if (!absl::LoadTimeZone("Pacific/Chatham", &chatham)) GTEST_SKIP() << "no time zone data on this machine";
  const auto utc = [](int month) {
    return absl::FromCivil(absl::CivilSecond(2026, month, 1, 0, 0, 0), absl::UTCTimeZone());
  };
  EXPECT_EQ(FormatTimestamp(utc(7), chatham), "2026-07-01 12:45:00 +12:45");
  EXPECT_EQ(FormatTimestamp(utc(1), chatham), "2026-01-01 13:45:00 +13:45");
}

}  // namespace
}  // namespace fleetmark
