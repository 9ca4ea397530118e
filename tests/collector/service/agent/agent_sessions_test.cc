#include "collector/service/agent/agent_sessions.h"

#include <thread>

#include "absl/time/clock.h"
#include "tests/collector/service/agent/session_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

class AgentSessionsTest : public SessionFixture {
 protected:
  AgentSessions sessions_;
};

// C-181
TEST_F(AgentSessionsTest, OneHostHasOnlySoManyStreams) {
  std::vector<Stream*> streams;
  for (size_t i = 0; i < AgentSessions::kMostPerHost; ++i) {
    streams.push_back(&Open());
    EXPECT_TRUE(sessions_.Add(kMac, streams.back()->session).ok());
  }
  Stream& over = Open();
  const absl::Status status = sessions_.Add(kMac, over.session);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr(kMac));
  EXPECT_TRUE(sessions_.Add("pi", over.session).ok()) << "another host is not concerned";
  sessions_.Remove(kMac, over.session.get());  // was not one of them
  EXPECT_FALSE(sessions_.Add(kMac, over.session).ok());
  sessions_.Remove(kMac, streams[0]->session.get());
  EXPECT_TRUE(sessions_.Add(kMac, over.session).ok());
  for (Stream* stream : streams) sessions_.Remove(kMac, stream->session.get());
  sessions_.Remove(kMac, over.session.get());
  sessions_.Remove("pi", over.session.get());
  EXPECT_EQ(sessions_.Shutdown(absl::ZeroDuration()), 0U);
}

// C-139
TEST_F(AgentSessionsTest, ShutdownEndsAllAndWaitsUntilTheyAreGone) {
  Stream& live = OpenLive();
  Stream& stranger = Open(PeerOfHost("pi"));
  ASSERT_TRUE(sessions_.Add(kMac, live.session).ok());
  ASSERT_TRUE(sessions_.Add("pi", stranger.session).ok());
  std::thread streams([&] {
    // As gRPC does: the stream is done some time after Finish.
    while (live.port.finishes().empty() || stranger.port.finishes().empty()) absl::SleepFor(absl::Milliseconds(1));
    live.Detach();
    sessions_.Remove(kMac, live.session.get());
    stranger.Detach();
    sessions_.Remove("pi", stranger.session.get());
  });
  EXPECT_EQ(sessions_.Shutdown(absl::Seconds(60)), 0U);
  streams.join();
  for (Stream* stream : {&live, &stranger}) {
    EXPECT_EQ(stream->port.end(), absl::StatusCode::kUnavailable) << "the agent connects again, elsewhere perhaps";
  }
  EXPECT_EQ(sessions_.Add(kMac, live.session).code(), absl::StatusCode::kUnavailable);
}

TEST_F(AgentSessionsTest, ShutdownSaysHowManyStayed) {
  Stream& one = OpenLive();
  Stream& two = Open(PeerOfHost("pi"));
  ASSERT_TRUE(sessions_.Add(kMac, one.session).ok());
  ASSERT_TRUE(sessions_.Add("pi", two.session).ok());
  EXPECT_EQ(sessions_.Shutdown(absl::ZeroDuration()), 2U);
  sessions_.Remove("pi", two.session.get());
  EXPECT_EQ(sessions_.Shutdown(absl::ZeroDuration()), 1U) << "may be asked again";
}

TEST_F(AgentSessionsTest, ItsThreadIsTheirClock) {
  context_.hello_timeout = absl::ZeroDuration();
  Stream& stream = Open();
  ASSERT_TRUE(sessions_.Add(kMac, stream.session).ok());
  sessions_.Start();
  EXPECT_TRUE(runs_.Await([&] { return stream.port.end() == absl::StatusCode::kDeadlineExceeded; }));
  EXPECT_EQ(sessions_.Shutdown(absl::ZeroDuration()), 1U);
}

}  // namespace
}  // namespace fleetmark::collector
