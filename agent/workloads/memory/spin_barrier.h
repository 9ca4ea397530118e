// A barrier for threads that must leave together, within a fraction of a microsecond: it spins, and gives the CPU away
// only after a while. All methods from any of its threads.
#pragma once

#include <atomic>
#include <thread>

namespace fleetmark::agent {

class SpinBarrier {
 public:
  explicit SpinBarrier(unsigned threads) : threads_(threads) {}
  SpinBarrier(const SpinBarrier&) = delete;
  SpinBarrier& operator=(const SpinBarrier&) = delete;

  void Wait() {
    constexpr unsigned kSpinsBeforeYield = 4000;
    const unsigned phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (unsigned spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins < kSpinsBeforeYield) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  const unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> phase_{0};
};

}  // namespace fleetmark::agent
