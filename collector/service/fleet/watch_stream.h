// The stream of one WatchRun call. What is new waits as the newest run and the newest progress of each task, so that a
// slow reader costs a bounded amount and misses frames, never the last one.
//
// Deletes itself in OnDone. The hub holds its watcher weakly.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "collector/service/watch/run_watcher.h"

namespace fleetmark::collector {

// `subscribe` is called once, with the watcher of the new stream; it must not block.
grpc::ServerWriteReactor<v1::WatchRunResponse>* NewWatchStream(
    const std::function<void(const std::shared_ptr<RunWatcher>&)>& subscribe);

// A stream that ends at once with `status`.
grpc::ServerWriteReactor<v1::WatchRunResponse>* NewFailedWatchStream(const absl::Status& status);

}  // namespace fleetmark::collector
