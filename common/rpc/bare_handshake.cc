#include "common/rpc/bare_handshake.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/pki/identity.h"
#include "common/pki/openssl_pointers.h"
#include "common/time/clock.h"

namespace fleetmark {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;
#endif

using AddressListPtr = std::unique_ptr<addrinfo, FreeWith<::freeaddrinfo>>;

class Deadline {
 public:
  explicit Deadline(absl::Duration timeout)
      : end_ns_(SystemClock().MonotonicNs() + absl::ToInt64Nanoseconds(timeout)) {}
  int MillisecondsLeft() const {
    const int64_t left = (end_ns_ - SystemClock().MonotonicNs() + 999'999) / 1'000'000;
    return left < 0 ? 0 : static_cast<int>(left);
  }

 private:
  const int64_t end_ns_;
};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status TooSlow(const std::string& where) {
  return absl::DeadlineExceededError(absl::StrCat("connect to ", where, ": no answer in time"));
}

absl::Status WaitFor(const Socket& socket, short events, const Deadline& deadline, const std::string& where) {
  pollfd wait{socket.fd(), events, 0};
  while (true) {
    const int count = ::poll(&wait, 1, deadline.MillisecondsLeft());
    if (count > 0) return absl::OkStatus();
    if (count == 0) return TooSlow(where);
    if (errno != EINTR) return absl::UnavailableError(absl::StrCat("wait for ", where));
  }
}

absl::StatusOr<Socket> ConnectTo(const addrinfo& to, const Deadline& deadline, const std::string& where) {
  const auto error = [&](int code) { return absl::ErrnoToStatus(code, absl::StrCat("connect to ", where)); };
  Socket socket(::socket(to.ai_family, to.ai_socktype, to.ai_protocol));
  if (socket.fd() < 0) return error(errno);
  ::fcntl(socket.fd(), F_SETFD, FD_CLOEXEC);
  ::fcntl(socket.fd(), F_SETFL, O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
  if (::connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS && errno != EINTR) return error(errno);
  if (absl::Status status = WaitFor(socket, POLLOUT, deadline, where); !status.ok()) return status;
  int result = 0;
  socklen_t size = sizeof(result);
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &result, &size);
  if (result != 0) return error(result);
  return socket;
}

absl::StatusOr<Socket> Connect(const Address& address, const Deadline& deadline) {
  const std::string where = ToString(address);
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  if (address.kind != Address::Kind::kName) wanted.ai_flags |= AI_NUMERICHOST;
#if defined(FLEETMARK_STATIC)
  if (address.kind == Address::Kind::kName) {
    return absl::UnavailableError(
        absl::StrCat("connect to ", where, ": this static program finds no names here; use an IP address"));
  }
#endif
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) return absl::UnavailableError(absl::StrCat("find ", address.host, ": ", ::gai_strerror(error)));
  const AddressListPtr list(found);
  absl::Status last = absl::UnavailableError(absl::StrCat("find ", address.host, ": no address"));
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    absl::StatusOr<Socket> socket = ConnectTo(*at, deadline, where);
    if (socket.ok()) return socket;
    last = socket.status();
  }
  if (absl::IsDeadlineExceeded(last)) return last;
  return absl::UnavailableError(last.message());
}

absl::StatusOr<SslPtr> MakeSession() {
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return absl::InternalError(absl::StrCat("set up TLS: ", OpensslReason()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SslPtr session(SSL_new(context.get()));
  if (!session) return absl::InternalError(absl::StrCat("set up TLS: ", OpensslReason()));
  SSL_set_connect_state(session.get());
  // What gRPC's client sends as well: a server that misses either would log a failed handshake.
  SSL_set_tlsext_host_name(session.get(), std::string(kCollectorDnsName).c_str());
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof(kHttp2));
  // Memory on both sides: bytes are moved with send(2), which can be told to raise no signal.
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  return session;
}

absl::Status NoTls(const std::string& where, const std::string& why) {
  return absl::UnavailableError(absl::StrCat("no TLS 1.3 at ", where, ": ", why));
}

absl::Status SendPending(const Socket& socket, SSL* session, const Deadline& deadline, const std::string& where) {
  std::string bytes = Contents(SSL_get_wbio(session));
  (void)BIO_reset(SSL_get_wbio(session));
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.fd(), bytes.data(), bytes.size(), kNoSignal);
    if (sent >= 0) {
      bytes.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (absl::Status status = WaitFor(socket, POLLOUT, deadline, where); !status.ok()) return status;
    } else if (errno != EINTR) {
      return NoTls(where, "the connection was closed");
    }
  }
  return absl::OkStatus();
}

absl::Status ReceiveSome(const Socket& socket, SSL* session, const Deadline& deadline, const std::string& where) {
  if (absl::Status status = WaitFor(socket, POLLIN, deadline, where); !status.ok()) return status;
  char buffer[8192];
  const ssize_t count = ::recv(socket.fd(), buffer, sizeof(buffer), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (count <= 0) return NoTls(where, "the connection was closed in the handshake");
  BIO_write(SSL_get_rbio(session), buffer, static_cast<int>(count));
  return absl::OkStatus();
}

absl::Status Shake(const Socket& socket, SSL* session, const Deadline& deadline, const std::string& where) {
  while (true) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session);
    const int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(session, result);
    if (error == SSL_ERROR_SSL) return NoTls(where, OpensslReason());
    if (absl::Status status = SendPending(socket, session, deadline, where); !status.ok()) return status;
    if (result == 1) return absl::OkStatus();
    if (error != SSL_ERROR_WANT_READ) return NoTls(where, "the handshake failed");
    if (absl::Status status = ReceiveSome(socket, session, deadline, where); !status.ok()) return status;
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PresentedChain(const Address& address, absl::Duration timeout) {
  const Deadline deadline(timeout);
  const std::string where = ToString(address);
  const absl::StatusOr<Socket> socket = Connect(address, deadline);
  if (!socket.ok()) return socket.status();
  const absl::StatusOr<SslPtr> session = MakeSession();
  if (!session.ok()) return session.status();
  if (const absl::Status status = Shake(*socket, session->get(), deadline, where); !status.ok()) return status;
  std::vector<std::string> chain;
  const STACK_OF(X509)* presented = SSL_get_peer_cert_chain(session->get());
  for (int i = 0; i < sk_X509_num(presented); ++i) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), sk_X509_value(presented, i));
    chain.push_back(Contents(bio.get()));
  }
  if (chain.empty()) return NoTls(where, "no certificate was presented");
  return chain;
}

}  // namespace fleetmark
