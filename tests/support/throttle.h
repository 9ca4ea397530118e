// A limit of the block layer for this process, for tests that need a slow disk.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace fleetmark::test {

// Moves this process, with all its threads, into a control group of its own in which `device` ("loop3") reads and
// writes so many bytes per second. With the object the limit is gone and the process back. Needs root and a block-I/O
// controller; where there is none, the error says why. Movable.
class Throttle {
 public:
  static absl::StatusOr<Throttle> Begin(const std::string& device, uint64_t bytes_per_second);
  Throttle(Throttle&& other) noexcept : group_(std::move(other.group_)), home_(std::move(other.home_)) {
    other.group_.clear();
  }
  Throttle& operator=(Throttle&& other) noexcept = delete;
  ~Throttle();

 private:
  Throttle(std::string group, std::string home) : group_(std::move(group)), home_(std::move(home)) {}
  std::string group_;  // its directory
  std::string home_;   // that of the group the process came from
};

}  // namespace fleetmark::test
