// The worker's end of its two pipes. One sleeping thread ("control") reads the orders, keeps the task's deadline, and
// makes sure that no orphan goes on: when the control pipe closes it cancels, and if the worker has not ended by itself
// within half a second it removes the scratch directory and ends the process.
//
// Owned by RunWorker. Send and WaitForProceed are for the main thread.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/worker/cancellation.h"
#include "agent/worker/framing.h"
#include "agent/worker/loop.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {

class ControlPipe : public WorkerChannel {
 public:
  ControlPipe(int control_fd, int event_fd) : control_fd_(control_fd), event_fd_(event_fd) {}
  ~ControlPipe() override;

  // Blocks until the orders are there. Unavailable: the executor is gone.
  absl::StatusOr<v1::WorkerStart> ReadStart();

  // Starts the thread. `abandon` removes what must not be left behind; called at most once, on the thread, just before
  // the process ends.
  void Watch(absl::Duration deadline, std::function<void()> abandon);
  // Ends the thread: from here on the process ends by itself.
  void StopWatching();

  const Cancellation& cancellation() const { return cancellation_; }

  absl::Status Send(const v1::WorkerEvent& event) override;
  bool WaitForProceed() override;

 private:
  void RunThread(absl::Duration deadline);
  void HandleOrders();
  void Stop(StopCause cause);

  const int control_fd_;
  const int event_fd_;
  Cancellation cancellation_;
  FrameReader reader_;  // of the thread, once it runs
  std::function<void()> abandon_;
  std::thread thread_;
  int wake_pipe_[2] = {-1, -1};  // written by StopWatching and by the SIGTERM handler
  Mutex mutex_;
  CondVar changed_;
  unsigned proceeds_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetmark::agent
