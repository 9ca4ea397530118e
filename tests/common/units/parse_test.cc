#include "common/units/parse.h"

#include <gtest/gtest.h>

#include <string>

namespace fleetmark {
namespace {

struct Good {
  const char* text;
  Unit unit;
  double value;
};

class ParseGood : public testing::TestWithParam<Good> {};

TEST_P(ParseGood, GivesBaseUnits) {
  const absl::StatusOr<double> value = ParseQuantity(GetParam().text, GetParam().unit);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_DOUBLE_EQ(*value, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Quantities, ParseGood,
    testing::Values(Good{"2GiB", Unit::kBytes, 2147483648.0}, Good{"0", Unit::kBytes, 0},
                    Good{"4096", Unit::kBytes, 4096}, Good{"4096B", Unit::kBytes, 4096},
                    Good{"1kB", Unit::kBytes, 1000}, Good{"1KB", Unit::kBytes, 1000},
                    Good{"1.5 MB", Unit::kBytes, 1500000}, Good{"1GB", Unit::kBytes, 1e9},
                    Good{"2TB", Unit::kBytes, 2e12}, Good{"4KiB", Unit::kBytes, 4096},
                    Good{"1MiB", Unit::kBytes, 1048576}, Good{"1TiB", Unit::kBytes, 1099511627776.0},
                    Good{"100MB/s", Unit::kBytesPerSecond, 1e8}, Good{"100MB", Unit::kBytesPerSecond, 1e8},
                    Good{"500/s", Unit::kOperationsPerSecond, 500}, Good{"4k/s", Unit::kOperationsPerSecond, 4000},
                    Good{"4k", Unit::kCount, 4000}, Good{"1M", Unit::kOperations, 1e6}, Good{"2G", Unit::kCount, 2e9},
                    Good{"1e3", Unit::kCount, 1000}, Good{"250ns", Unit::kSeconds, 250e-9},
                    Good{"10us", Unit::kSeconds, 10e-6}, Good{"10\xC2\xB5s", Unit::kSeconds, 10e-6},
                    Good{"250ms", Unit::kSeconds, 0.25}, Good{"0.5s", Unit::kSeconds, 0.5},
                    Good{"5min", Unit::kSeconds, 300}, Good{"24h", Unit::kSeconds, 86400}, Good{"0", Unit::kSeconds, 0},
                    Good{"70%", Unit::kRatio, 0.7}, Good{"0.7", Unit::kRatio, 0.7}, Good{"70%", Unit::kPercent, 70},
                    Good{"2.4GHz", Unit::kHertz, 2.4e9}, Good{"6Gbit/s", Unit::kBitsPerSecond, 6e9}));

class ParseBad : public testing::TestWithParam<std::pair<const char*, Unit>> {};

TEST_P(ParseBad, IsRefusedWithTheTextAndAWayOut) {  // C-176
  const absl::StatusOr<double> value = ParseQuantity(GetParam().first, GetParam().second);
  ASSERT_FALSE(value.ok()) << *value;
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(value.status().message());
  EXPECT_EQ(message.substr(0, 1), "\"");
  EXPECT_NE(message.find("write for example"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Quantities, ParseBad,
    testing::Values(std::pair{"", Unit::kBytes}, std::pair{"1G; rm -rf /", Unit::kBytes},
                    std::pair{"0x10", Unit::kBytes}, std::pair{"1e308", Unit::kBytes},
                    std::pair{"1e308GB", Unit::kBytes}, std::pair{"1e400", Unit::kBytes}, std::pair{"-1", Unit::kBytes},
                    std::pair{"+1", Unit::kBytes}, std::pair{"-0", Unit::kCount}, std::pair{"inf", Unit::kBytes},
                    std::pair{"nan", Unit::kBytes}, std::pair{".5", Unit::kBytes}, std::pair{"1,5MB", Unit::kBytes},
                    std::pair{" 1", Unit::kBytes}, std::pair{"1 ", Unit::kBytes}, std::pair{"1  MB", Unit::kBytes},
                    std::pair{"1MB ", Unit::kBytes}, std::pair{"1MB\n", Unit::kBytes}, std::pair{"1Mb", Unit::kBytes},
                    std::pair{"1mb", Unit::kBytes}, std::pair{"1G", Unit::kBytes}, std::pair{"1MB/s", Unit::kBytes},
                    std::pair{"10", Unit::kSeconds}, std::pair{"10m", Unit::kSeconds}, std::pair{"4k/s", Unit::kCount},
                    std::pair{"9223372036854775808", Unit::kBytes}, std::pair{"--filename=/dev/sda", Unit::kBytes},
                    std::pair{"1/s", Unit::kCount}, std::pair{"1.2.3", Unit::kCount}, std::pair{"MB", Unit::kBytes},
                    std::pair{"1%", Unit::kCount}));

TEST(ParseQuantityTest, QuotesLongInputOnlyInPart) {
  const absl::StatusOr<double> value = ParseQuantity("1" + std::string(10000, 'x'), Unit::kBytes);
  EXPECT_LT(value.status().message().size(), 300u);
}

TEST(ParseQuantityTest, RefusesInputWithNul) {
  EXPECT_FALSE(ParseQuantity(std::string("1\0MB", 4), Unit::kBytes).ok());
}

TEST(ParseWholeQuantityTest, TakesWholeNumbersOnly) {
  EXPECT_EQ(ParseWholeQuantity("1.5kB", Unit::kBytes).value(), 1500);
  EXPECT_EQ(ParseWholeQuantity("1.1GB", Unit::kBytes).value(), 1100000000);
  EXPECT_EQ(ParseWholeQuantity("32", Unit::kCount).value(), 32);
  EXPECT_FALSE(ParseWholeQuantity("0.3B", Unit::kBytes).ok());
  EXPECT_FALSE(ParseWholeQuantity("2.5", Unit::kCount).ok());
  EXPECT_FALSE(ParseWholeQuantity("9007199254740994", Unit::kCount).ok());
  EXPECT_FALSE(ParseWholeQuantity("x", Unit::kCount).ok());
}

TEST(ParseDurationTest, NeedsAUnit) {  // C-107
  EXPECT_EQ(ParseDuration("250ms").value(), absl::Milliseconds(250));
  EXPECT_EQ(ParseDuration("2min").value(), absl::Minutes(2));
  const absl::StatusOr<absl::Duration> bare = ParseDuration("10");
  ASSERT_FALSE(bare.ok());
  EXPECT_NE(bare.status().message().find("no unit"), std::string::npos);
}

TEST(UnitNameTest, ReadsBackEveryName) {
  for (const Unit unit :
       {Unit::kNone, Unit::kBytes, Unit::kBytesPerSecond, Unit::kOperations, Unit::kOperationsPerSecond, Unit::kSeconds,
        Unit::kRatio, Unit::kPercent, Unit::kCount, Unit::kScore, Unit::kHertz, Unit::kBitsPerSecond, Unit::kCelsius}) {
    EXPECT_EQ(UnitFromName(UnitName(unit)), unit);
  }
  EXPECT_EQ(UnitName(Unit::kBytesPerSecond), "bytes_per_second");
  EXPECT_FALSE(UnitFromName("furlongs").has_value());
  EXPECT_EQ(UnitFamilyFromName("iec"), UnitFamily::kIec);
  EXPECT_EQ(UnitFamilyFromName("decimal"), UnitFamily::kDecimal);
  EXPECT_FALSE(UnitFamilyFromName("DECIMAL").has_value());
  EXPECT_EQ(DirectionText(Direction::kLowerIsBetter), "lower is better");
  EXPECT_EQ(DirectionText(Direction::kNone), "");
}

}  // namespace
}  // namespace fleetmark
