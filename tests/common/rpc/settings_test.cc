// What channels and servers are made with, side by side: each for itself looks fine when they do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/rpc/credentials.h"

namespace fleetmark {
namespace {

using Settings = std::map<std::string, int>;

// Of two equal keys gRPC takes the first.
Settings IntegersOf(const grpc::ChannelArguments& arguments) {
  Settings settings;
  const grpc_channel_args all = arguments.c_channel_args();
  for (size_t i = 0; i < all.num_args; ++i) {
    if (all.args[i].type == GRPC_ARG_INTEGER) settings.emplace(all.args[i].key, all.args[i].value.integer);
  }
  return settings;
}

class OpenBuilder : public grpc::ServerBuilder {
 public:
  Settings settings() {
    grpc::ChannelArguments arguments;
    for (grpc::ServerBuilderOption* option : options()) option->UpdateArguments(&arguments);
    return IntegersOf(arguments);
  }
};

Settings OfServers() {
  OpenBuilder builder;
  ApplyServerSettings(builder);
  return builder.settings();
}

// C-131: else the server ends the connection with GOAWAY too_many_pings, again and again (tests/integration/
// keepalive_test.cc has the two against each other).
TEST(SettingsTest, AServerTakesThePingsThatAChannelSends) {
  const Settings channel = IntegersOf(ChannelSettings());
  const Settings server = OfServers();
  EXPECT_EQ(channel.at(GRPC_ARG_KEEPALIVE_TIME_MS), 20'000);
  EXPECT_GE(channel.at(GRPC_ARG_KEEPALIVE_TIME_MS),
            2 * server.at(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS))
      << "pings that were held up on the way arrive closer together";
  for (const Settings& side : {channel, server}) {
    EXPECT_EQ(side.at(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS), 1);
    EXPECT_EQ(side.at(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA), 0) << "as many as it takes";
    EXPECT_LE(side.at(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), 10'000);
  }
  EXPECT_EQ(server.count(GRPC_ARG_HTTP2_MAX_PING_STRIKES), 0U);
}

TEST(SettingsTest, AChannelPingsLessOftenWhereItIsTold) {
  EXPECT_EQ(IntegersOf(ChannelSettings(absl::Seconds(80))).at(GRPC_ARG_KEEPALIVE_TIME_MS), 80'000);
}

// C-132: a peer that is gone without a word is noticed from both sides.
TEST(SettingsTest, AServerPingsToo) {
  EXPECT_EQ(OfServers().at(GRPC_ARG_KEEPALIVE_TIME_MS), absl::ToInt64Milliseconds(kKeepalive));
}

}  // namespace
}  // namespace fleetmark
