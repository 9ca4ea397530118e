// Mutex, MutexLock and CondVar: std::mutex with clang's capability annotations, so that `-Wthread-safety` checks every
// GUARDED_BY. All locking in our own code goes through these; absl::Mutex is not used (its distributed build is not
// instrumented, and ThreadSanitizer then reports races on correctly locked data).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"  // first: it defines two of the names below, with the same meaning

#if defined(__clang__)
#define FM_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FM_THREAD_ANNOTATION(x)
#endif

#undef GUARDED_BY
#undef PT_GUARDED_BY
#define GUARDED_BY(x) FM_THREAD_ANNOTATION(guarded_by(x))
#define PT_GUARDED_BY(x) FM_THREAD_ANNOTATION(pt_guarded_by(x))
#define REQUIRES(...) FM_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) FM_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace fleetmark {

class FM_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() FM_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() FM_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for the length of a scope.
class FM_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FM_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() FM_THREAD_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable for Mutex. Waits may wake spuriously: callers loop on their predicate.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // Returns false if the time was up without a notification.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(lock, timeout);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace fleetmark
