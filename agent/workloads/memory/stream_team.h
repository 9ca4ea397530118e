// StreamTeam: threads that run the passes of one variant together.
//
// A pass of a kernel covers one of kStreamSlices stretches of the arrays, the next pass the next, and the order of
// kernels goes round: what a pass touches was last touched a whole set of arrays ago, further than STREAM's own order
// allows, in a fraction of its time. Every thread has its own part of each stretch, and touches no other.
//
// Owned by one thread; each call starts its threads, pins each to a CPU, and joins them before it returns.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "agent/workloads/memory/stream_arrays.h"
#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {

// No common divisor with the number of kernels, so that every kernel visits every stretch.
inline constexpr size_t kStreamSlices = 9;

// The seconds of each pass of each kernel, the first, discarded one left out: from the first start of any thread to the
// last end.
struct StreamTimes {
  std::array<std::vector<double>, kStreamKernels> seconds;
};

class StreamTeam {
 public:
  // One thread per entry of `cpus` (at least one). `cancelled` is called from the team's threads.
  StreamTeam(std::vector<int> cpus, std::function<bool()> cancelled);

  // How many doubles an array should have, near `count`: divisible among threads, stretches and vectors.
  size_t RoundCount(size_t count) const;
  // Doubles that one pass of a kernel covers.
  size_t PassCount(const StreamArrays& arrays) const;

  // Puts the starting values in, each thread into its own parts. `progress` gets 0..1, from one of the threads.
  absl::Status Touch(const StreamArrays& arrays, const std::function<void(double)>& progress);

  // `passes` timed passes after one that is discarded. Afterwards the arrays hold the starting values again.
  // Errors: Internal (a result is wrong), Cancelled, ResourceExhausted (no threads).
  absl::Status Run(const StreamArrays& arrays, const StreamVariant& variant, unsigned passes, StreamTimes& times);

 private:
  struct Part {
    size_t begin, count;
  };
  Part PartOf(const StreamArrays& arrays, size_t thread, size_t slice) const;
  absl::Status OnAllThreads(const std::function<void(size_t)>& work);

  const std::vector<int> cpus_;
  const std::function<bool()> cancelled_;
};

}  // namespace fleetmark::agent
