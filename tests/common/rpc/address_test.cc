#include "common/rpc/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark {
namespace {

using ::testing::HasSubstr;

struct Good {
  const char* text;
  Address address;
  const char* shown;
  const char* target;
};

// C-143
TEST(AddressTest, ReadsWhatPeopleWrite) {
  const Good cases[] = {
      {"192.168.1.20", {Address::Kind::kIpv4, "192.168.1.20", 7401}, "192.168.1.20:7401", "ipv4:192.168.1.20:7401"},
      {"192.168.1.20:9", {Address::Kind::kIpv4, "192.168.1.20", 9}, "192.168.1.20:9", "ipv4:192.168.1.20:9"},
      {"[fd00::5]:7000", {Address::Kind::kIpv6, "fd00::5", 7000}, "[fd00::5]:7000", "ipv6:[fd00::5]:7000"},
      {"[fd00::5]", {Address::Kind::kIpv6, "fd00::5", 7401}, "[fd00::5]:7401", "ipv6:[fd00::5]:7401"},
      {"fd00::5", {Address::Kind::kIpv6, "fd00::5", 7401}, "[fd00::5]:7401", "ipv6:[fd00::5]:7401"},
      {"::1", {Address::Kind::kIpv6, "::1", 7401}, "[::1]:7401", "ipv6:[::1]:7401"},
      {"::", {Address::Kind::kIpv6, "::", 7401}, "[::]:7401", "ipv6:[::]:7401"},
      {"fe80::1%eth0",
       {Address::Kind::kIpv6, "fe80::1%eth0", 7401},
       "[fe80::1%eth0]:7401",
       "ipv6:[fe80::1%25eth0]:7401"},
      {"localhost:0", {Address::Kind::kName, "localhost", 0}, "localhost:0", "dns:///localhost:0"},
      {"nas.local", {Address::Kind::kName, "nas.local", 7401}, "nas.local:7401", "dns:///nas.local:7401"},
      {"my_box:65535", {Address::Kind::kName, "my_box", 65535}, "my_box:65535", "dns:///my_box:65535"},
  };
  for (const Good& good : cases) {
    const absl::StatusOr<Address> address = ParseAddress(good.text, kMainPort);
    ASSERT_TRUE(address.ok()) << good.text << ": " << address.status();
    EXPECT_EQ(*address, good.address) << good.text;
    EXPECT_EQ(ToString(*address), good.shown);
    EXPECT_EQ(ToGrpcTarget(*address), good.target);
    EXPECT_EQ(ParseAddress(ToString(*address), 1).value(), *address);
  }
}

TEST(AddressTest, RefusesTheRestAndNamesIt) {
  for (const char* text :
       {"", ":", ":7401", "host:", "host:x", "host:70000", "host:-1", "[fd00::5", "[fd00::5]x", "[host]:1",
        "https://host:1", "10.0.0.300", "10.0.0", "a b", "-x:1", "a;b", "fd00::5%", "unix:/tmp/x"}) {
    const absl::Status status = ParseAddress(text, kMainPort).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("\"") + text + "\""));
  }
}

TEST(AddressTest, PortCanBeRequired) {
  EXPECT_THAT(std::string(ParseAddress("host", 0).status().message()), HasSubstr("the port is missing"));
  EXPECT_THAT(std::string(ParseAddress("fd00::5", 0).status().message()), HasSubstr("the port is missing"));
  EXPECT_TRUE(ParseAddress("host:1", 0).ok());
}

}  // namespace
}  // namespace fleetmark
