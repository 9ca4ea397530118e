#include "agent/platform/bounded_call.h"

#include <set>
#include <system_error>
#include <thread>

#include "common/lifecycle/thread_name.h"
#include "common/sync/mutex.h"

namespace fleetmark::agent {
namespace {

struct Calls {
  Mutex mutex;
  CondVar changed;
  std::multiset<std::string> hanging GUARDED_BY(mutex);  // given up by their callers, not yet back
};

Calls& AllCalls() {
  // Never destroyed: a thread that comes back while the process ends must find it.
  static Calls& calls = *new Calls;
  return calls;
}

// Of one call; guarded by the mutex of AllCalls().
struct State {
  bool returned = false;
  bool given_up = false;
};

}  // namespace

bool RunBounded(const std::string& key, std::chrono::milliseconds limit, std::function<void()> call) {
  Calls& calls = AllCalls();
  {
    MutexLock lock(calls.mutex);
    if (calls.hanging.count(key) > 0) return false;
  }
  const auto state = std::make_shared<State>();
  std::thread helper;
  try {
    helper = std::thread([state, key, call = std::move(call)] {
      SetThreadName("fm-bounded");
      call();
      Calls& all = AllCalls();
      MutexLock lock(all.mutex);
      state->returned = true;
      if (state->given_up) all.hanging.erase(all.hanging.find(key));
      all.changed.NotifyAll();
    });
  } catch (const std::system_error&) {  // no thread to be had: as good as no answer
    return false;
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool returned = false;
  {
    MutexLock lock(calls.mutex);
    while (!state->returned) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero()) break;
      calls.changed.WaitFor(calls.mutex, std::chrono::duration_cast<std::chrono::nanoseconds>(left));
    }
    returned = state->returned;
    if (!returned) {
      state->given_up = true;
      calls.hanging.insert(key);
    }
  }
  if (returned) {
    helper.join();
  } else {
    helper.detach();
  }
  return returned;
}

size_t HangingCalls() {
  Calls& calls = AllCalls();
  MutexLock lock(calls.mutex);
  return calls.hanging.size();
}

}  // namespace fleetmark::agent
