// Periodic: calls a function now and then, on a named thread of its own.
//
// Owned by whoever wants the calls; from Start() to Shutdown(), which joins after the call under way.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "common/lifecycle/stop_signal.h"

namespace fleetmark::collector {

class Periodic {
 public:
  Periodic(std::string name, absl::Duration interval, std::function<void()> call);
  ~Periodic();  // REQUIRES: Shutdown() was called, if Start() was

  void Start();     // the first call comes after one interval
  void Shutdown();  // idempotent

 private:
  const std::string name_;
  const absl::Duration interval_;
  const std::function<void()> call_;
  StopSignal stop_;
  std::thread thread_;
};

}  // namespace fleetmark::collector
