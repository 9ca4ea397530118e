#include "tests/collector/store/commit_cutter.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

namespace fleetmark::collector {
namespace {

sockaddr_un Address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

// Copies what is there; the bytes, or nothing at the end.
std::string Copy(int from, int to) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(from, buffer.data(), buffer.size());
  if (got <= 0) return "";
  const std::string bytes(buffer.data(), static_cast<size_t>(got));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = send(to, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (put <= 0) return "";
    done += static_cast<size_t>(put);
  }
  return bytes;
}

}  // namespace

CommitCutter::CommitCutter(const std::string& dsn) : dsn_(dsn) {
  const size_t begin = dsn.find("host='") + 6;
  const size_t end = dsn.find('\'', begin);
  server_socket_ = dsn.substr(begin, end - begin) + "/.s.PGSQL.5432";
  dsn_.replace(begin, end - begin, directory_.path());
  const sockaddr_un address = Address(directory_.path() + "/.s.PGSQL.5432");
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  acceptor_ = std::thread([this] { Accept(); });
}

CommitCutter::~CommitCutter() {
  stop_.Request();
  acceptor_.join();
  close(listener_);
}

void CommitCutter::Accept() {
  while (!stop_.requested()) {
    pollfd watched[2] = {{stop_.fd(), POLLIN, 0}, {listener_, POLLIN, 0}};
    poll(watched, 2, -1);
    if (stop_.requested()) break;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) forwarders_.emplace_back([this, client] { Forward(client); });
  }
  for (std::thread& thread : forwarders_) thread.join();
}

void CommitCutter::Forward(int client) {
  const sockaddr_un address = Address(server_socket_);
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  while (open && !stop_.requested()) {
    pollfd watched[3] = {{stop_.fd(), POLLIN, 0}, {client, POLLIN, 0}, {server, POLLIN, 0}};
    poll(watched, 3, -1);
    if (watched[1].revents != 0) {
      const std::string bytes = Copy(client, server);
      open = !bytes.empty();
      if (bytes.find("COMMIT") != std::string::npos && armed_.fetch_sub(1) > 0) {
        // The server answers when it has committed; that is as far as it gets.
        std::array<char, 4096> answer;
        [[maybe_unused]] const ssize_t ignored = read(server, answer.data(), answer.size());
        ++cuts_;
        open = false;
      }
    }
    if (open && watched[2].revents != 0) open = !Copy(server, client).empty();
  }
  close(server);
  close(client);
}

}  // namespace fleetmark::collector
