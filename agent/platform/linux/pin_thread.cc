#include "agent/platform/pin_thread.h"

#include <pthread.h>
#include <sched.h>

namespace fleetmark::agent {

bool PinThisThread(int cpu) {
  if (cpu < 0) return false;
  const size_t size = CPU_ALLOC_SIZE(cpu + 1);
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return false;
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<size_t>(cpu), size, set);
  const bool pinned = pthread_setaffinity_np(pthread_self(), size, set) == 0;
  CPU_FREE(set);
  return pinned;
}

}  // namespace fleetmark::agent
