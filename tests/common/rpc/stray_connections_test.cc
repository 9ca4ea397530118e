// C-147: what port scanners and lost programs send.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/pki/random.h"
#include "common/rpc/credentials.h"
#include "common/rpc/process.h"
#include "tests/common/rpc/fleet_server.h"
#include "tests/support/trust/test_fleet.h"

namespace fleetmark {
namespace {

class Stray {
 public:
  explicit Stray(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  ~Stray() { ::close(fd_); }
  Stray(const Stray&) = delete;
  Stray& operator=(const Stray&) = delete;

  void Send(const std::string& bytes) { (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

  // What the server sends until it closes; false if it does not within a minute.
  bool IsClosed() {
    while (true) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, 60'000) <= 0) return false;
      char buffer[4096];
      const ssize_t count = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (count <= 0) return true;
      received_.append(buffer, static_cast<size_t>(count));
    }
  }
  const std::string& received() const { return received_; }

 private:
  const int fd_;
  std::string received_;
};

TEST(StrayConnectionsTest, AreClosedAndDisturbNobody) {
  const test::TestFleet fleet;
  const test::FleetServer server(ServerCredentials(fleet.Collector()));
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> agent = MakeChannel(server.address(), fleet.Host());
  ASSERT_TRUE(agent.ok());
  ASSERT_TRUE(test::AskWho(*agent).ok());

  const Stray silent(server.port());
  const std::vector<std::string> nonsense = {
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n", RandomBytes(2048),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",  std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'),
      "SSH-2.0-OpenSSH_9.2\r\n",           std::string(4096, '\0'),
  };
  for (const std::string& bytes : nonsense) {
    Stray stray(server.port());
    stray.Send(bytes);
    EXPECT_TRUE(stray.IsClosed());
    EXPECT_EQ(stray.received().find("fleetmark"), std::string::npos);
    EXPECT_TRUE(test::AskWho(*agent).ok());
  }
}

TEST(StrayConnectionsTest, SilentOnesAreClosedToo) {
  const test::TestFleet fleet;
  const test::FleetServer server(ServerCredentials(fleet.Collector()));
  Stray silent(server.port());
  EXPECT_TRUE(silent.IsClosed()) << "the handshake may take 10 s";
  EXPECT_EQ(silent.received(), "");
}

TEST(StrayConnectionsTest, LeaveOneLineInTheLogWithoutTheirBytes) {
  PrepareRpc(RpcLog::kErrors);
  const test::TestFleet fleet;
  const test::FleetServer server(ServerCredentials(fleet.Collector()));
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    Stray stray(server.port());
    stray.Send("GET /some-secret-path HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(stray.IsClosed());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_NE(log.find("TLS handshake failed"), std::string::npos) << log;
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
}

}  // namespace
}  // namespace fleetmark
