#include "common/text/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fleetmark {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(CleanUtf8Test, LeavesValidTextAlone) {
  for (const std::string text : {"", "plain", "M\xC3\xBCller", "\xE6\xBC\xA2\xE5\xAD\x97", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(CleanUtf8(text), text);
  }
}

TEST(CleanUtf8Test, CutsTrailingNulsAndReplacesInnerOnes) {
  EXPECT_EQ(CleanUtf8(std::string("ST3\0\0\0", 6)), "ST3");
  EXPECT_EQ(CleanUtf8(std::string("a\0b", 3)), "a" + kBad + "b");
  EXPECT_EQ(CleanUtf8(std::string("\0\0", 2)), "");
}

TEST(CleanUtf8Test, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(CleanUtf8("a\xFF"), "a" + kBad);
  EXPECT_EQ(CleanUtf8("\xC0\xAF"), kBad + kBad);                        // overlong "/"
  EXPECT_EQ(CleanUtf8("\xED\xA0\x80"), kBad + kBad + kBad);             // a surrogate
  EXPECT_EQ(CleanUtf8("\xF5\x80\x80\x80"), kBad + kBad + kBad + kBad);  // above U+10FFFF
  EXPECT_EQ(CleanUtf8("\xE2\x82"), kBad + kBad);                        // cut off
  EXPECT_EQ(CleanUtf8("\xE2\x82z"), kBad + kBad + "z");
}

TEST(CleanUtf8Test, IsIdempotentForEveryPairOfBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string once = CleanUtf8(std::string{static_cast<char>(a), static_cast<char>(b)});
      ASSERT_EQ(CleanUtf8(once), once) << a << " " << b;
    }
  }
}

TEST(EscapeForTerminalTest, LeavesNothingThatMovesACursorOrForgesALine) {
  EXPECT_EQ(EscapeForTerminal("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(EscapeForTerminal("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(EscapeForTerminal("\x7f"), "\\x7f");
  EXPECT_EQ(EscapeForTerminal("\xC2\x85"), "\\u0085");      // NEL
  EXPECT_EQ(EscapeForTerminal("\xC2\x9B"), "\\u009b");      // CSI in one character
  EXPECT_EQ(EscapeForTerminal("\xE2\x80\xA8"), "\\u2028");  // line separator
  EXPECT_EQ(EscapeForTerminal("\xE2\x80\xAE"), "\\u202e");  // right-to-left override
  EXPECT_EQ(EscapeForTerminal("M\xC3\xBCller"), "M\xC3\xBCller");
}

TEST(DisplayWidthTest, KnowsWideAndCombiningCharacters) {  // C-151
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("M\xC3\xBCller"), 6);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);                 // e + combining acute
  EXPECT_EQ(DisplayWidth("\xE6\xBC\xA2\xE5\xAD\x97"), 4);  // two ideographs
  EXPECT_EQ(DisplayWidth("\xED\x95\x9C"), 2);              // Hangul
  EXPECT_EQ(DisplayWidth("\xF0\x9F\x98\x80"), 2);          // an emoji
  EXPECT_EQ(DisplayWidth("\xEF\xBC\xA1"), 2);              // full-width A
  EXPECT_EQ(DisplayWidth("\xE2\x94\x80"), 1);              // a box line
}

TEST(TruncateToWidthTest, NeverCutsACharacterNorExceedsTheWidth) {  // C-151
  EXPECT_EQ(TruncateToWidth("short", 5), "short");
  EXPECT_EQ(TruncateToWidth("too long", 6), "too...");
  EXPECT_EQ(TruncateToWidth("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2\xE5\xAD\x97", 6), "\xE6\xBC\xA2...");
  EXPECT_EQ(TruncateToWidth("abcdef", 2), "..");
  EXPECT_EQ(TruncateToWidth("abcdef", 0), "");
  const std::string mixed =
      "a\xE6\xBC\xA2"
      "e\xCC\x81\xF0\x9F\x98\x80xyz\xE5\xAD\x97";
  for (int width = 0; width <= 14; ++width) {
    const std::string cut = TruncateToWidth(mixed, width);
    EXPECT_LE(DisplayWidth(cut), width);
    EXPECT_EQ(CleanUtf8(cut), cut);
  }
}

TEST(RedactDsnTest, HidesPasswordsAndNothingElse) {
  EXPECT_EQ(RedactDsn("postgres://u:secret@h/db"), "postgres://u:***@h/db");
  EXPECT_EQ(RedactDsn("postgres://u@h:5432/db"), "postgres://u@h:5432/db");
  EXPECT_EQ(RedactDsn("postgres://h:5432/db"), "postgres://h:5432/db");
  EXPECT_EQ(RedactDsn("host=h password=secret dbname=d"), "host=h password=*** dbname=d");
  EXPECT_EQ(RedactDsn("host=h password = 'se cr\\'et' dbname=d"), "host=h password = *** dbname=d");
  EXPECT_EQ(RedactDsn("host=h password=se\\ cret dbname=d"), "host=h password=*** dbname=d");
  EXPECT_EQ(RedactDsn("postgres://h/db?user=u&password=secret&sslmode=require"),
            "postgres://h/db?user=u&password=***&sslmode=require");
  EXPECT_EQ(RedactDsn("sslpassword=secret"), "sslpassword=***");
  EXPECT_EQ(RedactDsn("service=fleetmark"), "service=fleetmark");
  EXPECT_EQ(RedactDsn("password"), "password");
  EXPECT_EQ(RedactDsn(""), "");
}

TEST(RedactDsnTest, HidesPasswordsThatHoldDelimiters) {
  for (const std::string dsn :
       {"postgres://u:se@cret@h/db", "postgres://u:se/cret@h/db", "postgres://u:se?cret@h/db",
        "postgres://u:se#cret@h/db", "postgres://u:se:cret@h/db", "password='unterminated secret", "password=\\"}) {
    const std::string redacted = RedactDsn(dsn);
    EXPECT_EQ(redacted.find("cret"), std::string::npos) << redacted;
    EXPECT_NE(redacted.find("***"), std::string::npos) << redacted;
  }
}

TEST(NearestMatchTest, FindsWhatWasMeant) {  // C-107
  const std::vector<std::string> fields = {"check_thermal", "check_battery", "timeout", "targets"};
  EXPECT_EQ(NearestMatch("chek_thermal", fields), "check_thermal");
  EXPECT_EQ(NearestMatch("tiemout", fields), "timeout");
  EXPECT_EQ(NearestMatch("Target", fields), "targets");
  EXPECT_EQ(NearestMatch("entirely_different", fields), "");
  EXPECT_EQ(NearestMatch("", fields), "");
  EXPECT_EQ(NearestMatch("x", fields), "");
  EXPECT_EQ(NearestMatch(std::string(100000, 'x'), fields), "");
  EXPECT_EQ(NearestMatch("sdd", std::vector<std::string>{"ssd", "hdd"}), "ssd");
  EXPECT_EQ(NearestMatch("nope", std::vector<std::string>{"gone"}), "") << "half of its letters differ";
  EXPECT_EQ(NearestMatch("b", std::vector<std::string>{"a"}), "");
}

}  // namespace
}  // namespace fleetmark
