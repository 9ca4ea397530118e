#include "collector/service/dispatch/periodic.h"

#include <cassert>
#include <utility>

#include "common/lifecycle/thread_name.h"

namespace fleetmark::collector {

Periodic::Periodic(std::string name, absl::Duration interval, std::function<void()> call)
    : name_(std::move(name)), interval_(interval), call_(std::move(call)) {}

Periodic::~Periodic() { assert(!thread_.joinable()); }

void Periodic::Start() {
  thread_ = std::thread([this] {
    SetThreadName(name_);
    while (!stop_.WaitFor(interval_)) call_();
  });
}

void Periodic::Shutdown() {
  stop_.Request();
  if (thread_.joinable()) thread_.join();
}

}  // namespace fleetmark::collector
