// RunLanes: starts the threads ("lanes") of a job together, watches them, joins them and adds up what they measured.
// Shared by all engines; an engine supplies the lanes.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "agent/engine/io_job.h"
#include "agent/engine/lane_recorder.h"

namespace fleetmark::agent {

// One thread's share of a job. SetUp and Loop run on the lane's own thread; the destructor on the caller's, after the
// join.
class Lane {
 public:
  virtual ~Lane() = default;

  // Allocates, registers, touches. An error ends the job before it starts.
  virtual absl::Status SetUp() = 0;

  // The timed section: until EndBatch() says so, `stop` is set or an operation fails. Returns with nothing in flight.
  virtual void Loop(LaneRecorder& recorder, const std::atomic<bool>& stop) = 0;

  // How it was done, for JobResult::details.
  virtual std::string Details() const { return ""; }
};

// Checks what every engine requires of a job: InvalidArgument.
absl::Status CheckJob(const IoJob& job);

absl::Status RunLanes(const IoJob& job, const JobHooks& hooks, std::vector<std::unique_ptr<Lane>> lanes,
                      JobResult& result);

}  // namespace fleetmark::agent
