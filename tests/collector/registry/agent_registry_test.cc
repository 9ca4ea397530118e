#include "collector/registry/agent_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/collector/recording_link.h"

namespace fleetmark::collector {
namespace {

using test::RecordingLink;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::CollectorMessage HeartbeatNumber(uint64_t number) {
  v1::CollectorMessage message;
  message.mutable_heartbeat()->set_number(number);
  return message;
}

TEST(AgentRegistryTest, AMessageGoesToTheSessionOfItsHost) {
  AgentRegistry registry;
  const auto mac = std::make_shared<RecordingLink>();
  const auto pi = std::make_shared<RecordingLink>();
  EXPECT_EQ(registry.Add("mac", mac), nullptr);
  EXPECT_EQ(registry.Add("pi", pi), nullptr);
  EXPECT_TRUE(registry.Send("pi", HeartbeatNumber(7)).ok());
  EXPECT_THAT(mac->sent(), IsEmpty());
  ASSERT_THAT(pi->sent(), SizeIs(1));
  EXPECT_EQ(pi->sent()[0].heartbeat().number(), 7U);
  EXPECT_THAT(registry.Hosts(), ElementsAre("mac", "pi"));
  EXPECT_EQ(registry.size(), 2U);
}

TEST(AgentRegistryTest, AHostThatIsNotConnectedHereIsUnavailable) {
  AgentRegistry registry;
  const absl::Status status = registry.Send("mac", HeartbeatNumber(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mac"));
  EXPECT_FALSE(registry.Connected("mac"));
  registry.End("mac", {}, absl::AbortedError("nobody is there to hear it"));
}

TEST(AgentRegistryTest, WhatASessionAnswersIsWhatTheSenderHears) {
  AgentRegistry registry;
  const auto link = std::make_shared<RecordingLink>();
  registry.Add("mac", link);
  link->End({}, absl::AbortedError("over"));
  EXPECT_EQ(registry.Send("mac", HeartbeatNumber(1)).code(), absl::StatusCode::kUnavailable);
}

TEST(AgentRegistryTest, EndIsForOneHostOnly) {
  AgentRegistry registry;
  const auto mac = std::make_shared<RecordingLink>();
  const auto pi = std::make_shared<RecordingLink>();
  registry.Add("mac", mac);
  registry.Add("pi", pi);
  v1::Refusal refusal;
  refusal.set_reason(v1::REFUSAL_REASON_REMOVED);
  registry.End("mac", refusal, absl::PermissionDeniedError("removed"));
  ASSERT_TRUE(mac->end().has_value());
  EXPECT_EQ(mac->end()->refusal.reason(), v1::REFUSAL_REASON_REMOVED);
  EXPECT_EQ(mac->end()->status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(pi->end().has_value());
  EXPECT_TRUE(registry.Connected("mac")) << "it leaves by itself, when its stream is done";
}

// Weak handles: a session lives as long as its stream, whoever may still know its host.
TEST(AgentRegistryTest, ASessionThatIsGoneIsNotConnected) {
  AgentRegistry registry;
  auto link = std::make_shared<RecordingLink>();
  registry.Add("mac", link);
  EXPECT_EQ(link.use_count(), 1);
  link.reset();
  EXPECT_FALSE(registry.Connected("mac"));
  EXPECT_THAT(registry.Hosts(), IsEmpty());
  EXPECT_EQ(registry.size(), 0U);
  EXPECT_EQ(registry.Send("mac", HeartbeatNumber(1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry.Add("mac", std::make_shared<RecordingLink>()), nullptr) << "there is no former one to be ended";
}

TEST(AgentRegistryTest, ANewSessionReplacesTheOldOneWhichIsHandedBack) {
  AgentRegistry registry;
  const auto old = std::make_shared<RecordingLink>();
  const auto fresh = std::make_shared<RecordingLink>();
  registry.Add("mac", old);
  EXPECT_EQ(registry.Add("mac", old), nullptr) << "a session does not replace itself";
  EXPECT_EQ(registry.Add("mac", fresh), old);
  ASSERT_TRUE(registry.Send("mac", HeartbeatNumber(1)).ok());
  EXPECT_THAT(old->sent(), IsEmpty());
  EXPECT_THAT(fresh->sent(), SizeIs(1));
  EXPECT_EQ(registry.size(), 1U);

  // The old stream is done later than the new one began: it must not take the new one out.
  EXPECT_FALSE(registry.Remove("mac", old.get()));
  EXPECT_TRUE(registry.Connected("mac"));
  EXPECT_TRUE(registry.Remove("mac", fresh.get()));
  EXPECT_FALSE(registry.Connected("mac"));
  EXPECT_FALSE(registry.Remove("mac", fresh.get())) << "it is out already";
}

// For ThreadSanitizer, and for the promise that exactly one of two sessions is left.
TEST(AgentRegistryTest, SessionsComeAndGoFromSeveralThreads) {
  AgentRegistry registry;
  std::atomic<int> removed{0}, replaced{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 300; ++i) {
        const auto link = std::make_shared<RecordingLink>();
        replaced += registry.Add("mac", link) != nullptr;
        registry.Send("mac", HeartbeatNumber(i)).IgnoreError();
        registry.Hosts();
        removed += registry.Remove("mac", link.get());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(replaced + removed, 4 * 300);
  EXPECT_GT(removed, 0);
  EXPECT_FALSE(registry.Connected("mac"));
}

}  // namespace
}  // namespace fleetmark::collector
