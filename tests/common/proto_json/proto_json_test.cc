#include "common/proto_json/proto_json.h"

#include <gtest/gtest.h>

#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark {
namespace {

TEST(ProtoJsonTest, KeepsFieldNamesAndPrintsFalseButNotAbsent) {
  v1::Host host;
  host.set_name("mac-pro");
  const auto json = RenderProtoJson(host);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find("\"connected\": false"), std::string::npos) << *json;
  EXPECT_EQ(json->find("last_seen_unix_seconds"), std::string::npos) << *json;
  EXPECT_EQ(json->back(), '\n');
}

// C-129: absent is not zero.
TEST(ProtoJsonTest, TellsAbsentFromZero) {
  v1::ComparisonCell cell;
  cell.set_median(0);
  const auto json = RenderProtoJson(cell);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find("\"median\": 0"), std::string::npos) << *json;
  EXPECT_EQ(json->find("\"low\""), std::string::npos) << *json;
}

// The same answer is the same text: what is stored can be compared.
TEST(ProtoJsonTest, MapsAreInTheOrderOfTheirKeys) {
  v1::Host one, other;
  for (char c = 'a'; c <= 'z'; ++c) (*one.mutable_labels())[std::string(1, c)] = "x";
  for (char c = 'z'; c >= 'a'; --c) (*other.mutable_labels())[std::string(1, c)] = "x";
  const auto json = RenderProtoJson(one);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json, *RenderProtoJson(other));
  size_t at = 0;
  for (char c = 'a'; c <= 'z'; ++c) {
    const size_t next = json->find(std::string("\"") + c + "\": \"x\"");
    ASSERT_NE(next, std::string::npos) << *json;
    EXPECT_GT(next, at);
    at = next;
  }
}

}  // namespace
}  // namespace fleetmark
