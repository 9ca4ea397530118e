#include "common/lifecycle/thread_name.h"

#include <pthread.h>

#include <string>

namespace fleetmark {

void SetThreadName(std::string_view name) {
  const std::string kept(name.substr(0, 15));
#ifdef __APPLE__
  pthread_setname_np(kept.c_str());
#else
  pthread_setname_np(pthread_self(), kept.c_str());
#endif
}

}  // namespace fleetmark
