// Parsing and printing must not care what the user's locale says. C-154
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "common/units/format.h"
#include "common/units/parse.h"
#include "tests/common/support/scoped_locale.h"

namespace fleetmark {
namespace {

std::string Everything() {
  std::string all = FormatQuantity(536870912, Unit::kBytesPerSecond) +
                    FormatQuantity(0.0001234, Unit::kOperationsPerSecond) + FormatQuantity(123456.789, Unit::kNone) +
                    FormatNumber(487.18) + FormatNumber(1e-300) + FormatRatio(0.0123) +
                    FormatBoth(1.5e9, Unit::kBytes) + FormatTimeSpan(absl::Seconds(80)) +
                    FormatTimestampUtc(absl::FromUnixMillis(1234567890123)) + FormatQuantity(0.07, Unit::kRatio);
  for (const char* text : {"487.18MB", "0.5GiB", "1KiB", "1,5MB"}) {
    const absl::StatusOr<double> value = ParseQuantity(text, Unit::kBytes);
    all += value.ok() ? FormatNumber(*value) : std::string(value.status().message());
  }
  return all;
}

class LocaleTest : public testing::TestWithParam<const char*> {};

TEST_P(LocaleTest, ChangesNothing) {
  const std::string expected = Everything();
  const ScopedLocale locale(GetParam());
  if (!locale.active()) GTEST_SKIP() << "locale " << GetParam() << " is neither installed nor can be compiled";
  char comma[16];
  std::snprintf(comma, sizeof comma, "%.1f", 0.5);
  ASSERT_STREQ(comma, "0,5") << "the locale is not what this test needs";
  EXPECT_EQ(Everything(), expected);
}

INSTANTIATE_TEST_SUITE_P(DecimalComma, LocaleTest, testing::Values("de_DE.UTF-8", "tr_TR.UTF-8"));

}  // namespace
}  // namespace fleetmark
