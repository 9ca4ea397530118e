#include "tests/e2e/cutting_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::test {
namespace {

constexpr size_t kHeader = 5;
constexpr unsigned char kApplicationData = 23;
constexpr int kLook = 10;  // ms between looks at what was asked

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

int Connect(const std::string& upstream) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(std::atoi(upstream.c_str() + upstream.rfind(':') + 1));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// One direction of a connection: forwards whole records and counts those of application data.
class Lane {
 public:
  Lane(int from, int to, Direction direction) : from_(from), to_(to), direction_(direction) {}

  int from() const { return from_; }
  int records() const { return records_; }

  // False: the connection has ended, or the cut is reached.
  bool Forward(const std::optional<Cut>& cut, int pace_ms, bool& reached) {
    char buffer[65536];
    const ssize_t size = recv(from_, buffer, sizeof buffer, 0);
    if (size <= 0) return false;
    pending_.append(buffer, static_cast<size_t>(size));
    while (pending_.size() >= kHeader) {
      const auto byte = [&](size_t at) { return static_cast<unsigned char>(pending_[at]); };
      const size_t whole = kHeader + (static_cast<size_t>(byte(3)) << 8) + byte(4);
      if (pending_.size() < whole) break;
      if (!WriteAll(to_, pending_.data(), whole)) return false;
      if (byte(0) == kApplicationData) ++records_;
      const bool counted = byte(0) == kApplicationData;
      pending_.erase(0, whole);
      if (counted && cut && cut->direction == direction_ && records_ == cut->after) {
        reached = true;
        return false;
      }
      if (counted && cut && pace_ms > 0) poll(nullptr, 0, pace_ms);
    }
    return true;
  }

 private:
  const int from_, to_;
  const Direction direction_;
  std::string pending_;
  int records_ = 0;
};

void End(int fd, bool reset) {
  if (reset) {
    const linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close(fd);
}

}  // namespace

CuttingProxy::CuttingProxy() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in any = Loopback(0);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 || listen(listener_, 16) != 0 ||
      pipe2(wake_, O_CLOEXEC) != 0) {
    std::perror("cutting proxy");
    std::abort();
  }
  accepting_ = std::thread([this] { Accept(); });
}

CuttingProxy::~CuttingProxy() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  close(wake_[1]);
  accepting_.join();
  for (std::thread& connection : connections_) connection.join();
  close(wake_[0]);
  close(listener_);
}

std::string CuttingProxy::address() const {
  sockaddr_in bound = {};
  socklen_t size = sizeof bound;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  return absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
}

void CuttingProxy::SetUpstream(const std::string& address) {
  MutexLock lock(mutex_);
  upstream_ = address;
}

void CuttingProxy::SetCuts(std::vector<Cut> cuts) {
  MutexLock lock(mutex_);
  cuts_.assign(cuts.begin(), cuts.end());
  ++generation_;
  cuts_done_ = most_up_ = most_down_ = 0;
}

void CuttingProxy::SetPace(absl::Duration pace) {
  MutexLock lock(mutex_);
  pace_ms_ = static_cast<int>(absl::ToInt64Milliseconds(pace));
}

void CuttingProxy::Block() {
  MutexLock lock(mutex_);
  blocked_ = true;
}

void CuttingProxy::Unblock() {
  MutexLock lock(mutex_);
  blocked_ = false;
}

int CuttingProxy::cuts_done() const {
  MutexLock lock(mutex_);
  return cuts_done_;
}

int CuttingProxy::most(Direction direction) const {
  MutexLock lock(mutex_);
  return direction == Direction::kUp ? most_up_ : most_down_;
}

void CuttingProxy::Accept() {
  for (;;) {
    pollfd fds[2] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    poll(fds, 2, -1);
    if (fds[1].revents != 0) return;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) connections_.emplace_back([this, client] { Serve(client); });
  }
}

bool CuttingProxy::Note(Direction direction, int records) {
  MutexLock lock(mutex_);
  int& most = direction == Direction::kUp ? most_up_ : most_down_;
  most = std::max(most, records);
  return !blocked_ && !stopping_;
}

void CuttingProxy::Serve(int client) {
  std::string upstream;
  {
    MutexLock lock(mutex_);
    if (!blocked_ && !stopping_) upstream = upstream_;
  }
  const int server = upstream.empty() ? -1 : Connect(upstream);
  if (server < 0) {
    close(client);
    return;
  }
  // A cut is used up by a connection that reached the collector.
  std::optional<Cut> cut;
  int generation = 0, pace_ms = 0;
  {
    MutexLock lock(mutex_);
    generation = generation_;
    pace_ms = pace_ms_;
    if (!cuts_.empty()) {
      cut = cuts_.front();
      cuts_.pop_front();
    }
  }
  const int now = 1;
  for (const int fd : {client, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
  Lane up(client, server, Direction::kUp), down(server, client, Direction::kDown);
  bool reached = false, alive = true;
  while (alive) {
    pollfd fds[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    poll(fds, 2, kLook);
    if (fds[0].revents != 0) alive = up.Forward(cut, pace_ms, reached);
    if (alive && fds[1].revents != 0) alive = down.Forward(cut, pace_ms, reached);
    alive = Note(Direction::kUp, up.records()) && Note(Direction::kDown, down.records()) && alive;
  }
  if (cut) {
    MutexLock lock(mutex_);
    if (generation != generation_) {
      // Of the test before.
    } else if (reached) {
      ++cuts_done_;
    } else {
      cuts_.push_front(*cut);
    }
  }
  const bool reset = reached && cut->reset;
  End(client, reset);
  End(server, reset);
}

}  // namespace fleetmark::test
