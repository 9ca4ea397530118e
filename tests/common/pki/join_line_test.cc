#include "common/pki/join_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/random.h"

namespace fleetmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JoinLine Sample() {
  return {{"10.0.0.2", "fd00::5", "nas.local"}, 7402, 7401, Sha256Hex("ca"), ToBase64Url(Sha256("token"))};
}

std::string Text() { return FormatJoinLine(Sample()).value(); }

std::string WithPart(size_t index, const std::string& part) {
  // The same line with another part and a check that fits it.
  std::string text = Text();
  size_t start = 0;
  for (size_t i = 0; i < index; ++i) start = text.find('/', start) + 1;
  text.replace(start, text.find('/', start) - start, part);
  const std::string body = text.substr(0, text.rfind('/'));
  return body + "/" + ToBase64Url(Sha256(body)).substr(0, 4);
}

TEST(JoinLineTest, ReadsBackWhatItWrote) {
  const absl::StatusOr<JoinLine> line = ParseJoinLine(Text());
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, Sample());
}

// C-176: the line is pasted into shells and message windows.
TEST(JoinLineTest, HasNoCharacterThatAShellReads) {
  EXPECT_EQ(Text().find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:_-/"),
            std::string::npos)
      << Text();
}

TEST(JoinLineTest, ForgivesHowItWasCopied) {
  const std::string text = Text();
  const std::string wrapped = text.substr(0, 60) + "\n  " + text.substr(60);
  for (const std::string& copied : {"  " + text + "\n", "\"" + text + "\"", "'" + text + "'", wrapped, "`" + text + "`",
                                    "fleetmark-agent join " + text, "~/bin/fleetmark-agent join " + text,
                                    "$ fleetmark login " + text, text.substr(0, 60) + "\r\n" + text.substr(60)}) {
    const absl::StatusOr<JoinLine> line = ParseJoinLine(copied);
    ASSERT_TRUE(line.ok()) << copied << ": " << line.status();
    EXPECT_EQ(*line, Sample());
  }
}

TEST(JoinLineTest, SeesEveryCutAndEveryTypingError) {
  const std::string text = Text();
  for (size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(ParseJoinLine(text.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] = wrong[at] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(ParseJoinLine(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(ParseJoinLine(text + "x").ok());
  EXPECT_FALSE(ParseJoinLine(text + "/x").ok());
}

struct BadPart {
  size_t index;
  std::string part;
  std::string says;
};

// C-176
TEST(JoinLineTest, SaysWhichPartIsWrongAndKeepsTheTokenSecret) {
  const BadPart parts[] = {
      {1, "", "addresses"},          {1, "10.0.0.2,,x", "addresses"},
      {1, "a;rm", "addresses"},      {1, "--target=x", "addresses"},
      {1, "$(reboot)", "addresses"}, {2, "0", "ports"},
      {2, "70000", "ports"},         {2, "-1", "ports"},
      {3, "7401x", "ports"},         {3, "", "ports"},
      {4, "AAAA", "fingerprint"},    {4, "", "fingerprint"},
      {5, "short", "token"},         {5, "", "token"},
  };
  for (const BadPart& bad : parts) {
    const absl::StatusOr<JoinLine> line = ParseJoinLine(WithPart(bad.index, bad.part));
    ASSERT_TRUE(absl::IsInvalidArgument(line.status())) << bad.part;
    EXPECT_THAT(std::string(line.status().message()), HasSubstr(bad.says)) << bad.part;
    EXPECT_THAT(std::string(line.status().message()), Not(HasSubstr(Sample().token)));
  }
}

TEST(JoinLineTest, NamesANewerKindOfLine) {
  std::string text = Text();
  text[2] = '2';
  EXPECT_THAT(std::string(ParseJoinLine(text).status().message()), HasSubstr("newer kind"));
}

TEST(JoinLineTest, RefusesHugeAndBinaryTexts) {
  EXPECT_FALSE(ParseJoinLine(std::string(1 << 20, 'x')).ok());
  EXPECT_FALSE(ParseJoinLine(std::string("fm1/\0\xff/1/2/3/4/5", 16)).ok());
  EXPECT_FALSE(ParseJoinLine("").ok());
  EXPECT_FALSE(ParseJoinLine("   \n").ok());
}

TEST(JoinLineTest, RefusesToWriteWhatItCouldNotRead) {
  JoinLine line = Sample();
  line.hosts = {};
  EXPECT_FALSE(FormatJoinLine(line).ok());
  line.hosts = {"a b"};
  EXPECT_FALSE(FormatJoinLine(line).ok());
  line = Sample();
  line.token = "x";
  EXPECT_FALSE(FormatJoinLine(line).ok());
  line = Sample();
  line.ca_fingerprint_hex = std::string(64, 'g');
  EXPECT_FALSE(FormatJoinLine(line).ok());
  line = Sample();
  line.main_port = 0;
  EXPECT_FALSE(FormatJoinLine(line).ok());
}

}  // namespace
}  // namespace fleetmark
