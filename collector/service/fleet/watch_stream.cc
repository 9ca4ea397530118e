#include "collector/service/fleet/watch_stream.h"

#include <map>
#include <optional>
#include <utility>

#include "common/rpc/handover.h"
#include "common/rpc/status.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {
namespace {

using Reactor = grpc::ServerWriteReactor<v1::WatchRunResponse>;

// The state of a stream. Outlives its reactor for as long as the hub is calling it.
class Watch final : public RunWatcher {
 public:
  explicit Watch(Reactor* reactor) : reactor_(reactor) {}

  void OnRun(const std::shared_ptr<const v1::Run>& run, bool last) override {
    MutexLock lock(mutex_);
    run_ = run;
    progress_.clear();  // older than the run
    if (last) end_ = absl::OkStatus();
    Continue();
  }

  void OnProgress(const v1::Progress& progress) override {
    MutexLock lock(mutex_);
    if (end_.has_value()) return;
    progress_[progress.task_id()] = progress;
    Continue();
  }

  void OnError(const absl::Status& status) override {
    MutexLock lock(mutex_);
    if (!end_.has_value()) end_ = status;
    Continue();
  }

  void OnWriteDone(bool ok) {
    TakenFromGrpc(&frame_);
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) Drop(absl::CancelledError("the watcher has gone"));
    Continue();
  }

  void OnCancel() {
    MutexLock lock(mutex_);
    Drop(absl::CancelledError("the watcher has gone"));
    Continue();
  }

  void Detach() {
    MutexLock lock(mutex_);
    reactor_ = nullptr;
  }

 private:
  void Drop(const absl::Status& status) REQUIRES(mutex_) {
    run_.reset();
    progress_.clear();
    end_ = status;
  }

  void Continue() REQUIRES(mutex_) {
    if (reactor_ == nullptr || writing_ || finished_) return;
    if (run_) {
      *frame_.mutable_run() = *run_;
      run_.reset();
    } else if (!progress_.empty()) {
      auto first = progress_.extract(progress_.begin());
      *frame_.mutable_progress() = std::move(first.mapped());
    } else if (end_.has_value()) {
      finished_ = true;
      reactor_->Finish(ToGrpcStatus(*end_));
      return;
    } else {
      return;
    }
    writing_ = true;
    GivenToGrpc(&frame_);
    reactor_->StartWrite(&frame_);
  }

  Mutex mutex_;
  Reactor* reactor_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const v1::Run> run_ GUARDED_BY(mutex_);
  std::map<int64_t, v1::Progress> progress_ GUARDED_BY(mutex_);  // by task
  std::optional<absl::Status> end_ GUARDED_BY(mutex_);
  v1::WatchRunResponse frame_ GUARDED_BY(mutex_);  // belongs to the write under way
};

class WatchStream final : public Reactor {
 public:
  explicit WatchStream(const std::function<void(const std::shared_ptr<RunWatcher>&)>& subscribe)
      : watch_(std::make_shared<Watch>(this)) {
    GivenToGrpc(this);
    subscribe(watch_);
  }

  void OnWriteDone(bool ok) override {
    const Reaction reaction(this);
    watch_->OnWriteDone(ok);
  }
  void OnCancel() override {
    const Reaction reaction(this);
    watch_->OnCancel();
  }
  void OnDone() override {
    LastReaction(this);
    watch_->Detach();
    delete this;
  }

 private:
  const std::shared_ptr<Watch> watch_;
};

class FailedWatchStream final : public Reactor {
 public:
  explicit FailedWatchStream(const absl::Status& status) {
    GivenToGrpc(this);
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override {
    LastReaction(this);
    delete this;
  }
};

}  // namespace

Reactor* NewWatchStream(const std::function<void(const std::shared_ptr<RunWatcher>&)>& subscribe) {
  return new WatchStream(subscribe);
}

Reactor* NewFailedWatchStream(const absl::Status& status) { return new FailedWatchStream(status); }

}  // namespace fleetmark::collector
