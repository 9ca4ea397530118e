#include "collector/service/enrollment/advertise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdvertiseTest, AListenerOnOneAddressIsThere) {
  EXPECT_THAT(AdvertisedHosts("127.0.0.1"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(AdvertisedHosts("fd00::5"), ElementsAre("fd00::5"));
}

TEST(AdvertiseTest, AListenerEverywhereIsNamedWithoutLoopback) {
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    const std::vector<std::string> hosts = AdvertisedHosts(wildcard);
    ASSERT_THAT(hosts, Not(IsEmpty()));
    for (const std::string& host : hosts) {
      EXPECT_NE(host, "::1");
      EXPECT_FALSE(host.starts_with("fe80:")) << host;
      EXPECT_FALSE(host.starts_with("169.254.")) << host;
      if (std::string(wildcard) == "0.0.0.0") {
        EXPECT_THAT(host, Not(HasSubstr(":")));
      }
    }
    if (hosts.size() > 1) {
      EXPECT_NE(hosts.front(), "127.0.0.1");
    }
  }
}

}  // namespace
}  // namespace fleetmark::collector
