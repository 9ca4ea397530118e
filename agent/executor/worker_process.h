// One worker process, from exec to reaping, and the pipes to it.
//
// Owned and used by the executor's thread. It is made with posix_spawn only: the agent has gRPC's threads (C-138). The
// destructor kills what still lives.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/worker/framing.h"
#include "agent/worker/process_identity.h"
#include "agent/worker/scratch.h"
#include "fleetmark/v1/worker.pb.h"

namespace fleetmark::agent {

struct WorkerExit {
  std::optional<int> code;
  std::optional<int> signal;
};

class WorkerProcess {
 public:
  // `program` as for exec; `title` is shown by ps.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Spawn(const std::string& program, const std::string& title);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return identity_.pid; }
  const ProcessIdentity& identity() const { return identity_; }

  absl::Status Send(const v1::WorkerControl& control);

  // To be polled. Both are non-blocking; -1 once they are at their end.
  int event_fd() const { return events_.get(); }
  int error_fd() const { return errors_.get(); }
  // Takes in what is there. False: the event pipe is at its end (the worker is gone, or about to be).
  bool ReadEvents();
  absl::StatusOr<bool> NextEvent(v1::WorkerEvent& event) { return frames_.Next(event); }
  void ReadErrors();
  // The end of what it wrote to stderr, clean and on one line; "" if nothing.
  std::string last_words() const;

  // To the whole process group.
  void Signal(int signal);
  // Waits at most so long; absent: it still lives. May be called again.
  std::optional<WorkerExit> WaitForExit(absl::Duration timeout);
  // Gives up on it: the destructor leaves it alone.
  void Abandon() { abandoned_ = true; }

 private:
  WorkerProcess() = default;

  ProcessIdentity identity_;
  OwnedFd control_;
  OwnedFd events_;
  OwnedFd errors_;
  FrameReader frames_;
  std::string error_text_;
  std::optional<WorkerExit> exit_;
  bool abandoned_ = false;
};

}  // namespace fleetmark::agent
