#include "common/render/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace fleetmark {
namespace {

TEST(JsonQuoteTest, EscapesWhatJsonAndScriptsNeed) {  // C-156
  EXPECT_EQ(JsonQuote("plain"), "\"plain\"");
  EXPECT_EQ(JsonQuote("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd\\te\"");
  EXPECT_EQ(JsonQuote("</SCRIPT>&"), "\"\\u003c/SCRIPT\\u003e\\u0026\"");
  EXPECT_EQ(JsonQuote("\xE2\x80\xA8\xE2\x80\xA9"), "\"\\u2028\\u2029\"");
  EXPECT_EQ(JsonQuote(std::string("\x01")), "\"\\u0001\"");
  EXPECT_EQ(JsonQuote("M\xC3\xBCller"), "\"M\xC3\xBCller\"");
  EXPECT_EQ(JsonQuote("\xFF"), "\"\xEF\xBF\xBD\"");
}

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().Integer(1).Number(2.5).Null().EndArray();
  json.Key("b").BeginObject().EndObject().Key("c").Bool(true).Key("d").String("x").EndObject();
  EXPECT_EQ(json.text(), R"({"a":[1,2.5,null],"b":{},"c":true,"d":"x"})");
}

TEST(JsonWriterTest, NeverWritesANonFiniteNumber) {
  JsonWriter json;
  json.BeginArray().Number(std::numeric_limits<double>::quiet_NaN()).Number(std::nullopt);
  json.Number(std::numeric_limits<double>::infinity()).EndArray();
  EXPECT_EQ(json.text(), "[null,null,null]");
}

TEST(RenderJsonErrorTest, NamesCodeMessageAndExitCode) {
  EXPECT_EQ(RenderJsonError(absl::NotFoundError("host \"x\" is unknown"), 4),
            "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"host \\\"x\\\" is unknown\",\"exit_code\":4}}\n");
}

}  // namespace
}  // namespace fleetmark
