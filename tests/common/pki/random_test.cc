#include "common/pki/random.h"

#include <gtest/gtest.h>

#include <set>

#include "common/pki/identity.h"

namespace fleetmark {
namespace {

TEST(RandomTest, HashesAsTheStandardSays) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(RandomTest, EncodesBase64UrlWithoutPadding) {
  EXPECT_EQ(ToBase64Url(""), "");
  EXPECT_EQ(ToBase64Url("f"), "Zg");
  EXPECT_EQ(ToBase64Url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(ToBase64Url("\xff\xff\xfe"), "___-");
  for (size_t size = 0; size < 70; ++size) {
    const std::string bytes = RandomBytes(size);
    EXPECT_EQ(FromBase64Url(ToBase64Url(bytes)).value(), bytes);
  }
}

TEST(RandomTest, RefusesTextsThatAreNotCanonical) {
  for (const char* text : {"Zg==", "Z", "Zh", "Zm9v YmFy", "Zm9vYmF+", "Zm9v/mFy"}) {
    EXPECT_FALSE(FromBase64Url(text).ok()) << text;
  }
}

TEST(RandomTest, MakesDifferentTokensAndUuids) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = RandomToken();
    EXPECT_EQ(token.size(), 43U);
    EXPECT_TRUE(seen.insert(token).second);
    const std::string uuid = NewUuid();
    EXPECT_TRUE(IsUuid(uuid)) << uuid;
    EXPECT_EQ(uuid[14], '4');
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace fleetmark
