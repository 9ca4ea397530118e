// StoreCalls: what the stores in memory have in common: each call is counted under its method's name, and fails while
// the test says so. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "common/sync/mutex.h"

namespace fleetmark::test {

class StoreCalls {
 public:
  // The method fails with `status` from now on; OK: no longer. "*": every method.
  void Fail(const std::string& method, const absl::Status& status) EXCLUDES(calls_mutex_) {
    MutexLock lock(calls_mutex_);
    if (status.ok()) {
      failures_.erase(method);
    } else {
      failures_[method] = status;
    }
  }

  int calls(const std::string& method) const EXCLUDES(calls_mutex_) {
    MutexLock lock(calls_mutex_);
    const auto found = calls_.find(method);
    return found == calls_.end() ? 0 : found->second;
  }

  // Until the method has been called `more` times more; false after 30 s. A call counts from its beginning: of two,
  // the first is over.
  bool AwaitCalls(const std::string& method, int more) EXCLUDES(calls_mutex_) {
    return Await([this, &method, goal = calls(method) + more] { return calls(method) >= goal; });
  }

  // Until `condition`, which may look at this store, holds; false after 30 s.
  bool Await(const std::function<bool()>& condition) EXCLUDES(calls_mutex_) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      MutexLock lock(calls_mutex_);
      called_.WaitFor(calls_mutex_, std::chrono::milliseconds(10));  // it may look at other things too
    }
    return true;
  }

 protected:
  // At the beginning of every method.
  absl::Status Called(const std::string& method) EXCLUDES(calls_mutex_) {
    MutexLock lock(calls_mutex_);
    ++calls_[method];
    called_.NotifyAll();
    for (const auto& name : {method, std::string("*")}) {
      if (const auto found = failures_.find(name); found != failures_.end()) return found->second;
    }
    return absl::OkStatus();
  }

 private:
  mutable Mutex calls_mutex_;
  CondVar called_;
  std::map<std::string, int> calls_ GUARDED_BY(calls_mutex_);
  std::map<std::string, absl::Status> failures_ GUARDED_BY(calls_mutex_);
};

}  // namespace fleetmark::test
