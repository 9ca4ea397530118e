// What gRPC orders, said to ThreadSanitizer. An operation is started in one thread and its reaction runs in another;
// that the one comes before the other is gRPC's promise, kept with locks inside a library that is not instrumented.
// Without these words every hand-over looks like a race. Nothing in any other build.
//
//   GivenToGrpc(this)        once, when the reactor is whole, before anything is started
//   GivenToGrpc(&message)    before StartRead(&message), StartWrite(&message)
//   Reaction reaction(this)  first thing in every reaction but OnDone; then
//   TakenFromGrpc(&message)  in the reaction to the read or the write
//   LastReaction(this)       first thing in OnDone, which comes after all other reactions have returned
//
// They say no more than gRPC promises: a read is ordered before its own reaction, not before that of a write, and two
// reactions are not ordered among themselves. What is shared beyond that needs a mutex, and its lack is still seen.
#pragma once

#include <cstddef>  // for _GLIBCXX_TSAN

#if defined(_GLIBCXX_TSAN)
#define FLEETMARK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FLEETMARK_TSAN 1
#endif
#endif

#ifdef FLEETMARK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace fleetmark {

#ifdef FLEETMARK_TSAN
inline void GivenToGrpc(const void* what) { __tsan_release(const_cast<void*>(what)); }
inline void TakenFromGrpc(const void* what) { __tsan_acquire(const_cast<void*>(what)); }
#else
inline void GivenToGrpc(const void*) {}
inline void TakenFromGrpc(const void*) {}
#endif

class Reaction {
 public:
  explicit Reaction(const void* reactor) : end_(EndOf(reactor)) { TakenFromGrpc(reactor); }
  ~Reaction() { GivenToGrpc(end_); }
  Reaction(const Reaction&) = delete;
  Reaction& operator=(const Reaction&) = delete;

  // What the ends of reactions are known by, other than their beginnings.
  static const void* EndOf(const void* reactor) { return static_cast<const char*>(reactor) + 1; }

 private:
  const void* const end_;
};

inline void LastReaction(const void* reactor) {
  TakenFromGrpc(reactor);
  TakenFromGrpc(Reaction::EndOf(reactor));
}

}  // namespace fleetmark
