#include "collector/analysis/row_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;

std::vector<size_t> Merged(const std::vector<std::vector<size_t>>& orders) {
  std::vector<size_t> merged;
  for (const std::vector<size_t>& order : orders) MergeOrder(merged, order);
  return merged;
}

TEST(MergeOrderTest, KeepsTheOrderOfEachAsFarAsTheyAgree) {
  EXPECT_THAT(Merged({}), ElementsAre());
  EXPECT_THAT(Merged({{1, 2, 3}, {1, 2, 3}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Merged({{3}, {1, 2, 3}}), ElementsAre(1, 2, 3)) << "the first host skipped what comes first";
  EXPECT_THAT(Merged({{1, 3}, {1, 2, 3}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Merged({{1, 2}, {2, 3}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Merged({{1, 2}, {3, 4}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Merged({{1, 2}, {2, 1, 3}}), ElementsAre(1, 3, 2)) << "where they do not, each stands once";
}

}  // namespace
}  // namespace fleetmark::collector
