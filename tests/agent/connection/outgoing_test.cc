#include "agent/connection/outgoing.h"

#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

constexpr int64_t kOneSecond = 1'000'000'000;

v1::Progress ProgressOf(int64_t task, double fraction) {
  v1::Progress progress;
  progress.set_task_id(task);
  progress.set_attempt(1);
  progress.set_fraction(fraction);
  return progress;
}

// C-140: the newest progress wins; a slow reader costs one message.
TEST(OutgoingTest, NewestProgressOfATaskWins) {
  Outgoing outgoing;
  EXPECT_TRUE(outgoing.OfferProgress(ProgressOf(1, 0.1)));
  for (int i = 2; i <= 1000; ++i) EXPECT_FALSE(outgoing.OfferProgress(ProgressOf(1, i / 1000.0)));
  EXPECT_DOUBLE_EQ(outgoing.Next(10 * kOneSecond)->progress().fraction(), 1.0);
  EXPECT_FALSE(outgoing.Next(20 * kOneSecond).has_value());
}

TEST(OutgoingTest, ProgressKeepsToTheRate) {
  Outgoing outgoing;
  outgoing.OfferProgress(ProgressOf(1, 0.1));
  EXPECT_TRUE(outgoing.Next(10 * kOneSecond).has_value());
  outgoing.OfferProgress(ProgressOf(1, 0.2));
  EXPECT_FALSE(outgoing.Next(10 * kOneSecond + kOneSecond / 2).has_value()) << "nobody watches: one a second";
  EXPECT_EQ(*outgoing.Due(), 11 * kOneSecond);
  EXPECT_TRUE(outgoing.Next(11 * kOneSecond).has_value());
  outgoing.SetProgressRate(5);
  outgoing.OfferProgress(ProgressOf(1, 0.3));
  EXPECT_TRUE(outgoing.Next(11 * kOneSecond).has_value()) << "somebody began to watch";
  outgoing.OfferProgress(ProgressOf(1, 0.4));
  EXPECT_FALSE(outgoing.Next(11 * kOneSecond + kOneSecond / 10).has_value());
  EXPECT_TRUE(outgoing.Next(11 * kOneSecond + kOneSecond / 5).has_value());
  outgoing.SetProgressRate(1e9);
  outgoing.OfferProgress(ProgressOf(1, 0.5));
  EXPECT_TRUE(outgoing.Next(20 * kOneSecond).has_value());
  outgoing.OfferProgress(ProgressOf(1, 0.6));
  EXPECT_EQ(*outgoing.Due(), 20 * kOneSecond + kOneSecond / 5) << "at most five a second";
}

TEST(OutgoingTest, AnswersGoFirstAndAreBounded) {
  Outgoing outgoing;
  outgoing.OfferProgress(ProgressOf(1, 0.1));
  v1::AgentMessage answer;
  answer.mutable_accepted()->set_task_id(7);
  EXPECT_TRUE(outgoing.Add(answer));
  EXPECT_EQ(*outgoing.Due(), 0);
  EXPECT_TRUE(outgoing.Next(kOneSecond)->has_accepted());
  int added = 0;
  while (added < 10000 && outgoing.Add(answer)) ++added;
  EXPECT_EQ(added, 256);
  outgoing.Clear();
  EXPECT_TRUE(outgoing.Next(2 * kOneSecond)->has_progress());
}

TEST(OutgoingTest, ProgressOfAnEndedTaskIsDropped) {
  Outgoing outgoing;
  outgoing.OfferProgress(ProgressOf(1, 0.1));
  outgoing.DropProgress(1, 1);
  EXPECT_FALSE(outgoing.Next(kOneSecond).has_value());
  EXPECT_FALSE(outgoing.Due().has_value());
}

}  // namespace
}  // namespace fleetmark::agent
