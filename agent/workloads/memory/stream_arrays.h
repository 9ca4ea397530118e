// The three arrays of STREAM, and what must be in them.
//
// Element i starts as x(i) = 1 + (i mod 8) / 8 times a coefficient per array. With q = 2 each kernel maps small whole
// coefficients to small whole coefficients, and a round of all four multiplies by eight: every value stays exact in
// binary64, with fused multiply-add and without, so that a check is an equality.
#pragma once

#include <cstddef>

#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {

inline constexpr double kStreamQ = 2;

// The coefficients of the arrays in one stretch of them.
struct StreamState {
  double a = 1;
  double b = 2;
  double c = 0;
  void Apply(StreamKernel kernel);
};

// One anonymous mapping, huge pages asked for. Owned by one thread; the memory may be used by several. Movable.
class StreamArrays {
 public:
  StreamArrays() = default;
  // `count` doubles per array. Empty afterwards (a() == nullptr) if the system refuses.
  explicit StreamArrays(size_t count);
  StreamArrays(StreamArrays&& other) noexcept;
  StreamArrays& operator=(StreamArrays&& other) noexcept;
  ~StreamArrays();

  double* a() const { return a_; }
  double* b() const { return b_; }
  double* c() const { return c_; }
  size_t count() const { return count_; }

  // Writes the starting values into [begin, begin + count); touches the pages for the calling thread.
  void Reset(size_t begin, size_t count) const;
  // True if [begin, begin + count) holds exactly what `state` says; then the starting values are put back.
  bool CheckAndReset(size_t begin, size_t count, const StreamState& state) const;

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  size_t count_ = 0;
  double* a_ = nullptr;
  double* b_ = nullptr;
  double* c_ = nullptr;
};

}  // namespace fleetmark::agent
