#include "agent/worker/framing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "fleetmark/v1/worker.pb.h"

namespace fleetmark::agent {
namespace {

v1::WorkerEvent Event(const std::string& step) {
  v1::WorkerEvent event;
  event.mutable_progress()->set_step(step);
  return event;
}

class FramingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(::pipe2(fds_, O_CLOEXEC), 0);
  }
  void TearDown() override {
    ::close(fds_[0]);
    if (fds_[1] >= 0) ::close(fds_[1]);
  }
  int fds_[2] = {-1, -1};
};

TEST_F(FramingTest, MessagesComeOutAsTheyWentIn) {
  std::thread writer([this] {
    EXPECT_TRUE(WriteFrame(fds_[1], Event("a")).ok());
    EXPECT_TRUE(WriteFrame(fds_[1], v1::WorkerEvent()).ok());
    EXPECT_TRUE(WriteFrame(fds_[1], Event(std::string(3'000'000, 'b'))).ok());  // more than the pipe holds
    ::close(fds_[1]);
  });
  FrameReader reader;
  std::vector<v1::WorkerEvent> events;
  v1::WorkerEvent event;
  while (ReadInto(fds_[0], reader).value()) {
    while (reader.Next(event).value()) events.push_back(event);
  }
  writer.join();
  fds_[1] = -1;
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].progress().step(), "a");
  EXPECT_EQ(events[2].progress().step().size(), 3'000'000u);
  EXPECT_TRUE(reader.AtBoundary());
}

TEST_F(FramingTest, BytesMayComeOneByOne) {
  ASSERT_TRUE(WriteFrame(fds_[1], Event(std::string(300, 'x'))).ok());
  char buffer[1024];
  const ssize_t count = ::read(fds_[0], buffer, sizeof buffer);
  FrameReader reader;
  v1::WorkerEvent event;
  for (ssize_t i = 0; i < count; ++i) {
    EXPECT_FALSE(reader.Next(event).value());
    reader.Append(std::string_view(buffer + i, 1));
  }
  EXPECT_TRUE(reader.Next(event).value());
  EXPECT_EQ(event.progress().step().size(), 300u);
}

TEST(FrameReaderTest, RefusesWhatIsNotOurs) {
  v1::WorkerEvent event;
  FrameReader endless;
  endless.Append("\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(endless.Next(event).status().code(), absl::StatusCode::kDataLoss);
  FrameReader huge;
  huge.Append("\xff\xff\xff\x7f");
  EXPECT_EQ(huge.Next(event).status().code(), absl::StatusCode::kDataLoss);
  FrameReader garbage;
  garbage.Append(std::string("\x02\xff\xff", 3));
  EXPECT_EQ(garbage.Next(event).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FramingTest, AClosedPipeIsUnavailable) {
  ::close(fds_[0]);
  EXPECT_EQ(WriteFrame(fds_[1], Event("a")).code(), absl::StatusCode::kUnavailable);
  fds_[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace
}  // namespace fleetmark::agent
