#include "agent/engine/io_engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/engine/job_file.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kFileBytes = uint64_t{4} << 20;

class IoEngineTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = MakeEngine(GetParam());
    ASSERT_NE(engine_, nullptr);
    job_ = file_.Job();
    if (std::string(GetParam()) == "sync") job_.depth = 1;
    JobResult result;
    const absl::Status status = engine_->Run(job_, {}, result);
    if (absl::IsUnavailable(status)) GTEST_SKIP() << status.message();
  }

  JobFile file_{kFileBytes};
  std::unique_ptr<IoEngine> engine_;
  IoJob job_;
};

TEST_P(IoEngineTest, CountsWhatItReads) {
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
  EXPECT_GT(result.reads, 0u);
  EXPECT_EQ(result.writes, 0u);
  EXPECT_EQ(result.read_bytes, result.reads * 4096);
  ASSERT_NE(result.read_latency, nullptr);
  EXPECT_EQ(result.read_latency->count(), result.reads);
  EXPECT_EQ(result.read_latency->clock_anomalies(), 0u);
  EXPECT_EQ(result.write_latency, nullptr);
  EXPECT_FALSE(result.clock_suspect);
}

// C-009: rates use the measured window, which is never shorter than planned by more than the first operation.
TEST_P(IoEngineTest, MeasuresItsRealWindow) {
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
  EXPECT_GT(result.elapsed_seconds, 0);
  double series_seconds = 0;
  uint64_t series_bytes = 0;
  for (const RateInterval& interval : result.series) {
    EXPECT_GT(interval.length_ns, 0);
    EXPECT_LE(interval.length_ns, 100'000'000);
    series_seconds += static_cast<double>(interval.length_ns) / 1e9;
    series_bytes += interval.bytes;
  }
  EXPECT_EQ(series_bytes, result.read_bytes);
  // Lanes' windows differ by an operation; the series spans all of them.
  EXPECT_GE(series_seconds, result.elapsed_seconds * 0.99);
}

// C-005: what is written neither repeats nor compresses.
TEST_P(IoEngineTest, WritesBlocksThatAreAllDifferent) {
  job_.read_fraction = 0;
  job_.block_bytes = 16384;
  job_.pattern = AccessPattern::kSequential;
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
  EXPECT_GT(result.writes, 0u);
  EXPECT_EQ(result.write_latency->count(), result.writes);
  EXPECT_GE(result.total_written_bytes, result.written_bytes);

  const uint64_t written = std::min<uint64_t>(result.total_written_bytes, kFileBytes);
  std::set<std::string> blocks;
  std::vector<char> block(4096);
  for (uint64_t offset = 0; offset < written; offset += block.size()) {
    ASSERT_EQ(pread(file_.fd(), block.data(), block.size(), static_cast<off_t>(offset)), 4096);
    uint64_t stamp[2];
    std::memcpy(stamp, block.data(), sizeof stamp);
    EXPECT_EQ(stamp[0], 7u);  // the pool's seed
    EXPECT_EQ(stamp[1], offset);
    blocks.emplace(block.data(), block.size());
  }
  EXPECT_EQ(blocks.size(), written / block.size());
}

TEST_P(IoEngineTest, MixesReadsAndWritesAsAsked) {
  job_.read_fraction = 0.7;
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
  ASSERT_GT(result.reads + result.writes, 500u);
  const double share = static_cast<double>(result.reads) / static_cast<double>(result.reads + result.writes);
  EXPECT_NEAR(share, 0.7, 0.1);
}

// With a ramp and without one: what is submitted before the first hook is in flight when that reads the counters.
TEST_P(IoEngineTest, SaysHowMuchWasInFlightAtTheFirstHook) {
  for (const double ramp : {0.0, 0.02}) {
    job_.ramp_seconds = ramp;
    JobResult result;
    ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
    EXPECT_EQ(result.in_flight_at_hook_bytes, uint64_t{job_.depth} * job_.threads * job_.block_bytes) << ramp;
  }
}

TEST_P(IoEngineTest, SeveralThreadsAddUp) {
  job_.threads = 3;
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, {}, result).ok());
  EXPECT_EQ(result.read_latency->count(), result.reads);
}

TEST_P(IoEngineTest, CallsTheWindowHooksOnceEachAndInOrder) {
  std::string calls;
  JobHooks hooks;
  hooks.window_opens = [&] { calls += "open "; };
  hooks.window_closed = [&] { calls += "closed "; };
  JobResult result;
  ASSERT_TRUE(engine_->Run(job_, hooks, result).ok());
  EXPECT_EQ(calls, "open closed ");
  EXPECT_GT(result.hooked_read_bytes, 0u);
}

TEST_P(IoEngineTest, StopsWhenCancelled) {
  job_.run_seconds = 3600;
  JobHooks hooks;
  int looks = 0;
  hooks.cancelled = [&] { return ++looks > 1; };
  JobResult result;
  EXPECT_EQ(engine_->Run(job_, hooks, result).code(), absl::StatusCode::kCancelled);
}

TEST_P(IoEngineTest, NamesTheOffsetThatCouldNotBeRead) {
  job_.file_bytes = kFileBytes * 2;  // half of it is not there
  job_.pattern = AccessPattern::kSequential;
  job_.run_seconds = 3600;
  JobResult result;
  const absl::Status status = engine_->Run(job_, {}, result);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(EIO)"));
  ASSERT_TRUE(result.error.has_value());
  EXPECT_FALSE(result.error->write);
  EXPECT_GE(result.error->offset, kFileBytes);
}

TEST_P(IoEngineTest, SaysThatThereIsNoSpace) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  job_.fd = full;
  job_.read_fraction = 0;
  JobResult result;
  const absl::Status status = engine_->Run(job_, {}, result);
  close(full);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("write 4096 bytes at offset"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(ENOSPC)"));
  EXPECT_EQ(result.written_bytes, 0u);
}

// C-012: blocks larger than the file are refused, not measured as nothing.
TEST_P(IoEngineTest, RefusesBlocksLargerThanTheFile) {
  job_.block_bytes = 1u << 30;
  JobResult result;
  EXPECT_EQ(engine_->Run(job_, {}, result).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Engines, IoEngineTest, ::testing::Values("io_uring", "threads", "sync"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST(UringEngineTest, IsUnavailableWhereItIsForbidden) {
  JobFile file(kFileBytes);
  const IoJob job = file.Job();
  absl::Status status;
  WithoutUring([&] {
    JobResult result;
    status = MakeUringEngine()->Run(job, {}, result);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("engine io_uring cannot be used here"));
}

TEST(SyncEngineTest, KeepsOneOperationInFlightOnly) {
  JobFile file(kFileBytes);
  const IoJob job = file.Job();
  const auto engine = MakeSyncEngine();
  EXPECT_FALSE(engine->Supports(job));
  JobResult result;
  EXPECT_EQ(engine->Run(job, {}, result).code(), absl::StatusCode::kUnavailable);
}

TEST(MakeEngineTest, UnknownNameGivesNothing) { EXPECT_EQ(MakeEngine("libaio"), nullptr); }

}  // namespace
}  // namespace fleetmark::agent
