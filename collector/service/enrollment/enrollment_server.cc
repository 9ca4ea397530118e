#include "collector/service/enrollment/enrollment_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <cassert>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/lifecycle/thread_name.h"
#include "common/rpc/address.h"
#include "common/rpc/credentials.h"
#include "common/rpc/status.h"
#include "common/sync/mutex.h"
#include "fleetmark/v1/enrollment.grpc.pb.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kQueueLength = 32;
constexpr int kMostMessageBytes = 64 << 10;
constexpr int kIdleMs = 30'000;
constexpr int kConnectionAgeMs = 120'000;
constexpr int kMostStreams = 4;

// "ipv4:10.0.0.9:51234" -> "10.0.0.9"; "ipv6:%5Bfd00::9%5D:51234" -> "fd00::9"
std::string HostOfPeer(const std::string& peer) {
  std::string host = peer;
  if (const size_t kind = host.find(':'); kind != std::string::npos) host.erase(0, kind + 1);
  if (const size_t port = host.rfind(':'); port != std::string::npos) host.erase(port);
  for (const char* bracket : {"%5B", "%5D", "[", "]"}) {
    if (const size_t at = host.find(bracket); at != std::string::npos) host.erase(at, std::string(bracket).size());
  }
  return host;
}

}  // namespace

// The service queues calls; one thread answers them, since the core blocks on the database.
class EnrollmentServer::Impl : public v1::EnrollmentService::CallbackService {
 public:
  Impl() : worker_([this] { Work(); }) {}
  ~Impl() override { assert(!worker_.joinable()); }

  absl::StatusOr<uint16_t> Listen(const Address& address, const TlsFiles& files) {
    const absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials =
        ReloadingAnonymousServerCredentials(files);
    if (!credentials.ok()) return credentials.status();
    grpc::ServerBuilder builder;
    ApplyServerSettings(builder);
    OfferNothingElse(builder);
    builder.SetMaxReceiveMessageSize(kMostMessageBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionAgeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    int port = 0;
    builder.AddListeningPort(ToString(address), *credentials, &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) {
      return absl::UnavailableError(
          absl::StrCat("listen on ", ToString(address),
                       " for enrolments: the port is in use, or the address is not this machine's"));
    }
    return static_cast<uint16_t>(port);
  }

  void Serve(Enrollment& core) {
    MutexLock lock(mutex_);
    core_ = &core;
  }

  void Shutdown(absl::Duration deadline) {
    if (server_) {
      server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(deadline));
      server_->Wait();
    }
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    if (worker_.joinable()) worker_.join();
  }

 private:
  struct Call {
    const v1::EnrollRequest* request;
    v1::EnrollResponse* response;
    grpc::ServerUnaryReactor* reactor;
    std::string peer;
    Enrollment* core;
  };

  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext* context, const v1::EnrollRequest* request,
                                   v1::EnrollResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Status status = Queue({request, response, reactor, HostOfPeer(context->peer()), nullptr});
    if (!status.ok()) reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  absl::Status Queue(Call call) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (core_ == nullptr || stopping_) return absl::UnavailableError("enrol: the collector is starting or stopping");
    if (calls_.size() >= kQueueLength) return absl::ResourceExhaustedError("enrol: too many at once; try again");
    call.core = core_;
    calls_.push_back(std::move(call));
    changed_.NotifyOne();
    return absl::OkStatus();
  }

  void Work() {
    SetThreadName("enrollment");
    while (true) {
      Call call;
      {
        MutexLock lock(mutex_);
        while (calls_.empty() && !stopping_) changed_.Wait(mutex_);
        if (calls_.empty()) return;
        call = std::move(calls_.front());
        calls_.pop_front();
      }
      absl::StatusOr<v1::EnrollResponse> response = call.core->Enroll(*call.request, call.peer);
      const absl::Status status = response.status();
      if (status.ok()) *call.response = *std::move(response);
      call.reactor->Finish(ToGrpcStatus(status));
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Call> calls_ GUARDED_BY(mutex_);
  Enrollment* core_ GUARDED_BY(mutex_) = nullptr;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
  std::thread worker_;
};

absl::StatusOr<std::unique_ptr<EnrollmentServer>> EnrollmentServer::Start(const std::string& address,
                                                                          const TlsFiles& files) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, kEnrollmentPort);
  if (!parsed.ok()) return parsed.status();
  auto impl = std::make_unique<Impl>();
  const absl::StatusOr<uint16_t> port = impl->Listen(*parsed, files);
  if (!port.ok()) {
    impl->Shutdown(absl::ZeroDuration());
    return port.status();
  }
  return std::unique_ptr<EnrollmentServer>(new EnrollmentServer(std::move(impl), *port));
}

EnrollmentServer::EnrollmentServer(std::unique_ptr<Impl> impl, uint16_t port) : impl_(std::move(impl)), port_(port) {}
EnrollmentServer::~EnrollmentServer() = default;

void EnrollmentServer::Serve(Enrollment& core) { impl_->Serve(core); }
void EnrollmentServer::Shutdown(absl::Duration deadline) { impl_->Shutdown(deadline); }

}  // namespace fleetmark::collector
