// Compiled without the pass that turns a copy loop into memcpy, which has streaming stores of its own.
#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {
namespace {

#if defined(__x86_64__)
constexpr char kIsa[] = "x86-64 baseline";
#elif defined(__aarch64__)
constexpr char kIsa[] = "armv8-a baseline";
#else
constexpr char kIsa[] = "baseline";
#endif

void Copy(double* __restrict a, double* __restrict, double* __restrict c, double, size_t count) {
  for (size_t i = 0; i < count; ++i) c[i] = a[i];
}

void Scale(double* __restrict, double* __restrict b, double* __restrict c, double q, size_t count) {
  for (size_t i = 0; i < count; ++i) b[i] = q * c[i];
}

void Add(double* __restrict a, double* __restrict b, double* __restrict c, double, size_t count) {
  for (size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

void Triad(double* __restrict a, double* __restrict b, double* __restrict c, double q, size_t count) {
  for (size_t i = 0; i < count; ++i) a[i] = b[i] + q * c[i];
}

}  // namespace

const char* StreamKernelName(StreamKernel kernel) {
  static constexpr const char* kNames[] = {"copy", "scale", "add", "triad"};
  return kNames[static_cast<size_t>(kernel)];
}

const StreamVariant& ScalarStream() {
  static constexpr StreamVariant kVariant{kIsa, {Copy, Scale, Add, Triad}};
  return kVariant;
}

const StreamVariant* BestStream() {
  const StreamVariant* best = nullptr;
  return StreamingVariants(&best, 1) > 0 ? best : nullptr;
}

}  // namespace fleetmark::agent
