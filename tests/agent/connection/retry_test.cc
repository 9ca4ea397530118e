#include "agent/connection/retry.h"

#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

Retry MakeRetry(std::vector<std::string> collectors, double random = 0.5) {
  return Retry(std::move(collectors), Backoff::Options(), [random] { return random; });
}

v1::Refusal RefusalOf(v1::RefusalReason reason) {
  v1::Refusal refusal;
  refusal.set_reason(reason);
  return refusal;
}

// C-135: never further apart than the cap, and spread.
TEST(RetryTest, WaitsDoubleUpToTheCapWithFullJitter) {
  Retry retry = MakeRetry({"a"});
  EXPECT_EQ(retry.AfterFailure(), absl::Seconds(0.5));
  EXPECT_EQ(retry.AfterFailure(), absl::Seconds(1));
  EXPECT_EQ(retry.AfterFailure(), absl::Seconds(2));
  for (int i = 0; i < 10; ++i) retry.AfterFailure();
  EXPECT_EQ(retry.AfterFailure(), absl::Seconds(15));
  Retry unlucky = MakeRetry({"a"}, 0.999999);
  for (int i = 0; i < 20; ++i) EXPECT_LE(unlucky.AfterFailure(), absl::Seconds(30));
}

TEST(RetryTest, WalksTheCollectorsRound) {
  Retry retry = MakeRetry({"a", "b", "c"});
  EXPECT_EQ(retry.address(), "a");
  retry.AfterFailure();
  EXPECT_EQ(retry.address(), "b");
  retry.AfterRefusal(RefusalOf(v1::REFUSAL_REASON_OVERLOADED));
  EXPECT_EQ(retry.address(), "c");
  retry.AfterSession(absl::Hours(1));
  EXPECT_EQ(retry.address(), "c") << "the one that served is tried first";
  retry.AfterFailure();
  EXPECT_EQ(retry.address(), "a");
}

TEST(RetryTest, OnlyAConnectionThatLastedStartsFromSmallWaitsAgain) {
  Retry retry = MakeRetry({"a"});
  for (int i = 0; i < 10; ++i) retry.AfterFailure();
  EXPECT_EQ(retry.AfterSession(absl::Milliseconds(5)), absl::Seconds(15)) << "welcomed and dropped at once";
  EXPECT_EQ(retry.AfterSession(absl::Minutes(1)), absl::Seconds(0.5));
}

TEST(RetryTest, RefusalIsObeyedAndLastingReasonsWaitLonger) {
  Retry retry = MakeRetry({"a"});
  v1::Refusal refusal = RefusalOf(v1::REFUSAL_REASON_OVERLOADED);
  refusal.set_retry_after_seconds(20);
  EXPECT_EQ(retry.AfterRefusal(refusal), absl::Seconds(20.5)) << "with jitter on top";
  EXPECT_GE(retry.AfterRefusal(RefusalOf(v1::REFUSAL_REASON_PROTOCOL)), absl::Minutes(1));
  EXPECT_GE(retry.AfterRefusal(RefusalOf(v1::REFUSAL_REASON_REMOVED)), absl::Minutes(1));
  EXPECT_LE(retry.AfterRefusal(RefusalOf(v1::REFUSAL_REASON_IDENTITY_IN_USE)), absl::Seconds(30));
  refusal.set_retry_after_seconds(1e300);
  EXPECT_LE(retry.AfterRefusal(refusal), absl::Hours(2));
}

TEST(SayOnceTest, SaysTheSameOnlyOnceAnHour) {
  SayOnce said;
  EXPECT_TRUE(said.IsNew("refused", 0));
  EXPECT_FALSE(said.IsNew("refused", 1'000'000'000));
  EXPECT_TRUE(said.IsNew("expired", 2'000'000'000));
  EXPECT_TRUE(said.IsNew("refused", 3'000'000'000));
  EXPECT_TRUE(said.IsNew("refused", int64_t{3604} * 1'000'000'000));
  said.Forget();
  EXPECT_TRUE(said.IsNew("refused", int64_t{3605} * 1'000'000'000));
}

}  // namespace
}  // namespace fleetmark::agent
