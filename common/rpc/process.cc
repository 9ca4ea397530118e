#include "common/rpc/process.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "common/log/log.h"
#include "common/rpc/process_internal.h"
#include "common/time/clock.h"

namespace fleetmark {
namespace {

constexpr int64_t kLogEveryNs = 10'000'000'000;
constexpr std::chrono::seconds kLongestEnd(2);

std::atomic<int64_t> next_log_ns{0};
std::atomic<uint64_t> suppressed{0};

// gRPC's messages may quote bytes of the peer: only the place and, for handshakes, the fact are told.
void LogRateLimited(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  const int64_t now = SystemClock().MonotonicNs();
  int64_t next = next_log_ns.load();
  if (now < next || !next_log_ns.compare_exchange_strong(next, now + kLogEveryNs)) {
    suppressed.fetch_add(1);
    return;
  }
  const char* slash = std::strrchr(line->file, '/');
  std::string text = std::strstr(line->message, "andshake") != nullptr
                         ? "a peer's TLS handshake failed (no TLS, no certificate, or one of another fleet)"
                         : "gRPC reports an error at " + std::string(slash != nullptr ? slash + 1 : line->file) + ":" +
                               std::to_string(line->line);
  if (const uint64_t more = suppressed.exchange(0); more > 0)
    text += "; " + std::to_string(more) + " more like it before";
  LogWarning("rpc", text);
}

void IgnoreLog(gpr_log_func_args*) {}

void SetEnvironment() {
  // gRPC reads these once, when it is first used. It has no option for the least TLS version, but with no cipher of
  // TLS 1.2 that can be negotiated (a pre-shared key is never there), 1.3 is what remains.
  ::setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1);
#if !defined(FLEETMARK_STATIC)
  // c-ares knows nothing of NSS: names such as nas.local would not be found.
  ::setenv("GRPC_DNS_RESOLVER", "native", 0);
#endif
}

}  // namespace

void PrepareRpcEnvironment() {
  static const bool done = (SetEnvironment(), true);
  (void)done;
}

void PrepareRpc(RpcLog log) {
  PrepareRpcEnvironment();
  // Who debugs gRPC itself gets its own log.
  if (std::getenv("GRPC_VERBOSITY") == nullptr && std::getenv("GRPC_TRACE") == nullptr) {
    gpr_set_log_function(log == RpcLog::kErrors ? LogRateLimited : IgnoreLog);
  }
}

void AwaitRpcEnd() {
  // Channels give up their last references on threads of gRPC; the one that gives up the last of all stops the others.
  const auto give_up = std::chrono::steady_clock::now() + kLongestEnd;
  while (grpc_is_initialized() != 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void TuneMallocForRpc() {
#if defined(__GLIBC__)
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::mallopt(M_TOP_PAD, 32 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 256 << 20);
#endif
}

}  // namespace fleetmark
