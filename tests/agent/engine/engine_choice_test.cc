#include "agent/engine/engine_choice.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/engine/job_file.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kJobBytes = uint64_t{4} << 20;

TEST(ChooseEngineTest, TakesOneThatKeepsTheDepthAndSaysWhy) {
  JobFile file(kJobBytes);
  const auto choice = ChooseEngine(file.Job(), nullptr);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->engine->Supports(file.Job()));
  EXPECT_THAT(choice->evidence, HasSubstr("threads "));
  EXPECT_THAT(choice->evidence, Not(HasSubstr("sync ")));
}

TEST(ChooseEngineTest, DepthOneDoesNotNeedAPool) {
  JobFile file(kJobBytes);
  IoJob job = file.Job();
  job.depth = 1;
  const auto choice = ChooseEngine(job, nullptr);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_NE(choice->engine->name(), "threads");
}

TEST(ChooseEngineTest, WorksWhereUringIsForbidden) {
  JobFile file(kJobBytes);
  IoJob job = file.Job();
  WithoutUring([&] {
    const auto choice = ChooseEngine(job, nullptr);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->engine->name(), "threads");
    EXPECT_THAT(choice->evidence, Not(HasSubstr("io_uring")));
  });
}

TEST(ChooseEngineTest, SaysWhyNoneIsLeft) {
  JobFile file(kJobBytes);
  IoJob job = file.Job();
  job.depth = 600;  // more than the pool of threads takes
  WithoutUring([&] {
    const auto choice = ChooseEngine(job, nullptr);
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(choice.status().message()), HasSubstr("engine io_uring cannot be used here"));
  });
}

TEST(ChooseEngineTest, WritesNothing) {
  JobFile file(kJobBytes);
  IoJob job = file.Job();
  job.read_fraction = 0;
  job.pool = nullptr;  // a write would be refused
  EXPECT_TRUE(ChooseEngine(job, nullptr).ok());
}

TEST(ChooseEngineTest, AReadErrorIsNoChoice) {
  JobFile file(kJobBytes);
  IoJob job = file.Job();
  job.file_bytes = kJobBytes * 64;
  EXPECT_EQ(ChooseEngine(job, nullptr).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ChooseEngineTest, CanBeCancelled) {
  JobFile file(kJobBytes);
  EXPECT_EQ(ChooseEngine(file.Job(), [] { return true; }).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace fleetmark::agent
