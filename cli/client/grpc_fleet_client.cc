#include "cli/client/grpc_fleet_client.h"

#include <chrono>
#include <deque>
#include <optional>

#include "common/pki/tls_files.h"
#include "common/rpc/address.h"
#include "common/rpc/credentials.h"
#include "common/rpc/diagnose.h"
#include "common/rpc/handover.h"
#include "common/rpc/status.h"
#include "common/sync/mutex.h"
#include "fleetmark/v1/fleet.grpc.pb.h"

namespace fleetmark::cli {
namespace {

std::chrono::system_clock::time_point In(absl::Duration duration) {
  return std::chrono::system_clock::now() + absl::ToChronoMilliseconds(duration);
}

// One WatchRun stream. Reactions queue frames; the caller's thread takes them. Deleted by its owner after Wait().
class WatchReactor : public grpc::ClientReadReactor<v1::WatchRunResponse> {
 public:
  WatchReactor(v1::FleetService::Stub& stub, const v1::WatchRunRequest& request) {
    stub.async()->WatchRun(&context_, &request, this);
    GivenToGrpc(this);
    GivenToGrpc(&incoming_);
    StartRead(&incoming_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  // The next frame; nullopt after `timeout`, or when the stream has ended (see ended()).
  std::optional<v1::WatchRunResponse> Next(absl::Duration timeout) {
    MutexLock lock(mutex_);
    if (frames_.empty() && !done_) changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(timeout));
    if (frames_.empty()) return std::nullopt;
    v1::WatchRunResponse frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }

  // True once the stream is over and all frames are taken.
  bool ended() {
    MutexLock lock(mutex_);
    return done_ && frames_.empty();
  }

  grpc::Status Wait() {
    MutexLock lock(mutex_);
    while (!done_) changed_.Wait(mutex_);
    return status_;
  }

 private:
  void OnReadDone(bool ok) override {
    const Reaction reaction(this);
    TakenFromGrpc(&incoming_);
    if (!ok) return;
    {
      MutexLock lock(mutex_);
      // Whoever does not keep up gets the newest progress, and every change of state.
      if (frames_.size() >= kMostFrames && frames_.back().has_progress()) frames_.pop_back();
      frames_.push_back(std::move(incoming_));
      changed_.NotifyAll();
    }
    incoming_.Clear();
    GivenToGrpc(&incoming_);
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    LastReaction(this);
    MutexLock lock(mutex_);
    status_ = status;
    done_ = true;
    changed_.NotifyAll();
  }

  static constexpr size_t kMostFrames = 1000;

  grpc::ClientContext context_;
  v1::WatchRunResponse incoming_;  // owned by the read in flight
  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::WatchRunResponse> frames_ GUARDED_BY(mutex_);
  bool done_ GUARDED_BY(mutex_) = false;
  grpc::Status status_ GUARDED_BY(mutex_);
};

class GrpcFleetClient : public FleetClient {
 public:
  GrpcFleetClient(ClientSettings settings, absl::Duration deadline)
      : settings_(std::move(settings)), deadline_(deadline) {}

#define FM_CALL(Name)                                                                          \
  absl::Status Call(const v1::Name##Request& request, v1::Name##Response& response) override { \
    return Try([&](v1::FleetService::Stub& stub, grpc::ClientContext& context) {               \
      return stub.Name(&context, request, &response);                                          \
    });                                                                                        \
  }
  FM_CALL(GetStatus)
  FM_CALL(ListHosts)
  FM_CALL(GetHost)
  FM_CALL(LabelHost)
  FM_CALL(RenameHost)
  FM_CALL(RemoveHost)
  FM_CALL(CreateInvite)
  FM_CALL(ListWorkloads)
  FM_CALL(ListSuites)
  FM_CALL(AddSuite)
  FM_CALL(CreateRun)
  FM_CALL(ListRuns)
  FM_CALL(GetRun)
  FM_CALL(CancelRun)
  FM_CALL(Compare)
#undef FM_CALL

  absl::Status WatchRun(const v1::WatchRunRequest& request, const StopSignal& stop,
                        const std::function<void(const v1::WatchRunResponse*)>& on_frame) override {
    absl::StatusOr<v1::FleetService::Stub*> stub = Stub();
    if (!stub.ok()) return stub.status();
    WatchReactor reactor(**stub, request);
    while (!reactor.ended()) {
      if (stop.requested()) {
        reactor.Cancel();
        reactor.Wait();
        return absl::CancelledError("stopped watching");
      }
      const std::optional<v1::WatchRunResponse> frame = reactor.Next(absl::Milliseconds(100));
      on_frame(frame ? &*frame : nullptr);
    }
    const absl::Status status = FromGrpcStatus(reactor.Wait());
    if (absl::IsUnavailable(status)) Forget();
    if (absl::IsUnimplemented(status)) return ExplainUnknownCall();
    return status;
  }

 private:
  absl::StatusOr<v1::FleetService::Stub*> Stub() {
    if (stub_ == nullptr) {
      const auto channel = MakeChannel(settings_.collectors[at_], settings_.material);
      if (!channel.ok()) return channel.status();
      stub_ = v1::FleetService::NewStub(*channel);
    }
    return stub_.get();
  }

  // The collector that was just called is of this fleet, but it does not know the call: whoever does not even know
  // GetStatus serves enrolment only.
  absl::Status ExplainUnknownCall() {
    const std::string& address = settings_.collectors[at_];
    grpc::ClientContext context;
    context.set_deadline(In(deadline_));
    v1::GetStatusResponse response;
    const absl::Status known = FromGrpcStatus(stub_->GetStatus(&context, v1::GetStatusRequest(), &response));
    if (absl::IsUnavailable(known)) return ExplainUnavailable(known, address, settings_.material);
    if (!known.ok() && !absl::IsUnimplemented(known)) return known;
    if (known.ok()) {
      return absl::UnimplementedError("collector " + address + " does not know this call: it is of version " +
                                      response.version() +
                                      ", this program of " FLEETMARK_VERSION "; bring both to the same version");
    }
    return absl::UnavailableError("collector " + address +
                                  " only enrols there: that is the enrolment port; use the collector's other port (" +
                                  std::to_string(kMainPort) + " if nothing else was configured)");
  }

  // The next call dials anew, and the next collector of the list.
  void Forget() {
    stub_.reset();
    at_ = (at_ + 1) % settings_.collectors.size();
  }

  // Tries each collector once. Where the connection broke after the request had left, the first one may have carried it
  // out: the second then does no harm, since it finds things as they should be, and a run by its request's key.
  absl::Status Try(const std::function<grpc::Status(v1::FleetService::Stub&, grpc::ClientContext&)>& call) {
    absl::Status last;
    std::string tried;
    for (size_t i = 0; i < settings_.collectors.size(); ++i) {
      const std::string address = settings_.collectors[at_];
      absl::StatusOr<v1::FleetService::Stub*> stub = Stub();
      if (!stub.ok()) return stub.status();
      grpc::ClientContext context;
      context.set_deadline(In(deadline_));
      last = FromGrpcStatus(call(**stub, context));
      if (absl::IsUnimplemented(last)) return ExplainUnknownCall();
      if (!absl::IsUnavailable(last)) {
        if (absl::IsDeadlineExceeded(last)) {
          last = absl::DeadlineExceededError("collector " + address + " did not answer within " +
                                             absl::FormatDuration(deadline_) + "; is its machine overloaded?");
        }
        return last;
      }
      last = ExplainUnavailable(last, address, settings_.material);
      tried += (tried.empty() ? "" : "; ") + std::string(last.message());
      Forget();
    }
    return absl::UnavailableError(tried);
  }

  const ClientSettings settings_;
  const absl::Duration deadline_;
  size_t at_ = 0;
  std::unique_ptr<v1::FleetService::Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FleetClient>> MakeFleetClient(ClientSettings settings, absl::Duration deadline) {
  if (const absl::Status status = CheckValidity(settings.material, absl::Now()); !status.ok()) return status;
  return std::make_unique<GrpcFleetClient>(std::move(settings), deadline);
}

}  // namespace fleetmark::cli
