#include "common/config/text_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fleetmark/v1/config.pb.h"
#include "fleetmark/v1/workload.pb.h"
#include "tests/common/support/scoped_locale.h"

namespace fleetmark {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view text, google::protobuf::Message&& message = v1::Suite()) {
  const absl::Status status = ParseTextProto(text, "my.textproto", message);
  EXPECT_EQ(message.ByteSizeLong(), 0u);
  if (!status.ok()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
  return std::string(status.message());
}

TEST(ParseTextProtoTest, ReadsASuite) {
  v1::Suite suite;
  ASSERT_TRUE(ParseTextProto(R"(# a comment
      name: "mine"  version: 1
      entries { workload: "disk.profile" parameters { key: "size" value: "1GiB" } }
      quiet_wait_seconds: 0.5)",
                             "my.textproto", suite)
                  .ok());
  EXPECT_EQ(suite.name(), "mine");
  EXPECT_EQ(suite.entries(0).parameters().at("size"), "1GiB");
  EXPECT_EQ(suite.quiet_wait_seconds(), 0.5);
}

TEST(ParseTextProtoTest, PointsAtLineAndColumn) {
  EXPECT_THAT(ErrorOf("name: \"a\"\nversion: \"one\"\n"), HasSubstr("my.textproto:2:10: "));
  EXPECT_THAT(ErrorOf("name: \"unterminated\n"), HasSubstr("my.textproto:1:"));
  EXPECT_THAT(ErrorOf("entries {"), HasSubstr("my.textproto:1:"));
}

TEST(ParseTextProtoTest, NamesTheNearestField) {  // C-107
  EXPECT_THAT(ErrorOf("nmae: \"a\""), HasSubstr("my.textproto:1:5: unknown field \"nmae\" (did you mean \"name\"?)"));
  EXPECT_THAT(ErrorOf("entries { worklaod: \"x\" }"), HasSubstr("did you mean \"workload\"?"));
  EXPECT_THAT(ErrorOf("zzzzzzzz: 1"), HasSubstr("there are: name, version"));
  EXPECT_THAT(ErrorOf("target { name: \"a\" }", v1::AgentConfig()), HasSubstr("did you mean \"targets\"?"));
}

TEST(ParseTextProtoTest, UnknownFieldsMayBeWarnings) {  // C-107
  v1::Suite suite;
  std::vector<std::string> warnings;
  TextProtoOptions options;
  options.unknown_is_error = false;
  ASSERT_TRUE(ParseTextProto("name: \"a\"\nverzion: 2\n", "f", suite, options, &warnings).ok());
  EXPECT_EQ(suite.name(), "a");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("f:2:"));
  EXPECT_THAT(warnings[0], HasSubstr("did you mean \"version\"?"));
}

TEST(ParseTextProtoTest, RefusesWhatIsNotText) {
  EXPECT_THAT(ErrorOf("name: \"a\"\nname: \"\xFF\"\n"), HasSubstr("my.textproto:2:1: not valid UTF-8"));
  EXPECT_THAT(ErrorOf(std::string("version: 1\0", 11)), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(ErrorOf(std::string(2 << 20, ' ')), HasSubstr("at most"));
}

TEST(ParseTextProtoTest, SurvivesDeepNestingAndManyErrors) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "entries { ";
  EXPECT_FALSE(ErrorOf(deep).empty());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "bad" + std::to_string(i) + ": 1\n";
  EXPECT_LT(ErrorOf(many).size(), 2000u);
}

TEST(ParseTextProtoTest, DoesNotCareAboutTheLocale) {  // C-154
  const ScopedLocale locale("de_DE.UTF-8");
  if (!locale.active()) GTEST_SKIP() << "locale de_DE.UTF-8 is neither installed nor can be compiled";
  v1::Suite suite;
  ASSERT_TRUE(ParseTextProto("quiet_wait_seconds: 0.5", "f", suite).ok());
  EXPECT_EQ(suite.quiet_wait_seconds(), 0.5);
}

TEST(LoadTextProtoTest, ReadsFilesAndNamesThemInErrors) {
  std::string directory = testing::TempDir() + "text_proto-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/suite.textproto";
  v1::Suite suite;
  EXPECT_EQ(LoadTextProto(path, suite).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(LoadTextProto(path, suite).message()), HasSubstr(path));
  std::ofstream(path) << "name: \"a\"\n";
  EXPECT_TRUE(LoadTextProto(path, suite).ok());
  EXPECT_EQ(suite.name(), "a");
  std::ofstream(path) << "name: 5\n";
  EXPECT_THAT(std::string(LoadTextProto(path, suite).message()), HasSubstr(path + ":1:7: "));
  EXPECT_THAT(std::string(LoadTextProto(directory, suite).message()), HasSubstr("not a regular file"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace fleetmark
