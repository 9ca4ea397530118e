// Non-temporal pairs of stores (STNP): a hint that the lines will not be used again soon. Part of the armv8-a baseline.
#include <arm_neon.h>

#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kPair = 4;  // doubles

inline void StorePair(double* to, float64x2_t first, float64x2_t second) {
  asm volatile("stnp %q1, %q2, [%0]" : : "r"(to), "w"(first), "w"(second) : "memory");
}

void CopyNeon(double* __restrict a, double* __restrict, double* __restrict c, double, size_t count) {
  for (size_t i = 0; i < count; i += kPair) StorePair(c + i, vld1q_f64(a + i), vld1q_f64(a + i + 2));
}

void ScaleNeon(double* __restrict, double* __restrict b, double* __restrict c, double q, size_t count) {
  const float64x2_t factor = vdupq_n_f64(q);
  for (size_t i = 0; i < count; i += kPair) {
    StorePair(b + i, vmulq_f64(factor, vld1q_f64(c + i)), vmulq_f64(factor, vld1q_f64(c + i + 2)));
  }
}

void AddNeon(double* __restrict a, double* __restrict b, double* __restrict c, double, size_t count) {
  for (size_t i = 0; i < count; i += kPair) {
    StorePair(c + i, vaddq_f64(vld1q_f64(a + i), vld1q_f64(b + i)),
              vaddq_f64(vld1q_f64(a + i + 2), vld1q_f64(b + i + 2)));
  }
}

void TriadNeon(double* __restrict a, double* __restrict b, double* __restrict c, double q, size_t count) {
  const float64x2_t factor = vdupq_n_f64(q);
  for (size_t i = 0; i < count; i += kPair) {
    StorePair(a + i, vaddq_f64(vld1q_f64(b + i), vmulq_f64(factor, vld1q_f64(c + i))),
              vaddq_f64(vld1q_f64(b + i + 2), vmulq_f64(factor, vld1q_f64(c + i + 2))));
  }
}

}  // namespace

size_t StreamingVariants(const StreamVariant** variants, size_t most) {
  static constexpr StreamVariant kNeon{"NEON with non-temporal stores", {CopyNeon, ScaleNeon, AddNeon, TriadNeon}};
  if (most == 0) return 0;
  variants[0] = &kNeon;
  return 1;
}

}  // namespace fleetmark::agent
