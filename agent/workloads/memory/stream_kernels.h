// The four kernels of STREAM on doubles, in the variants this processor can run. Pure functions on memory; any thread.
//
// `count` is a multiple of kStreamBlock; arrays are 64-byte aligned and do not overlap. All arithmetic is exact for the
// inputs of stream_arrays.h, so that results are compared bit by bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fleetmark::agent {

enum class StreamKernel { kCopy, kScale, kAdd, kTriad };
inline constexpr size_t kStreamKernels = 4;

inline constexpr size_t kStreamBlock = 64;  // doubles

// copy: c = a.  scale: b = q c.  add: c = a + b.  triad: a = b + q c.
using StreamFunction = void (*)(double* a, double* b, double* c, double q, size_t count);

struct StreamVariant {
  const char* isa = nullptr;  // "x86-64 baseline", "AVX-512 with streaming stores"
  std::array<StreamFunction, kStreamKernels> kernels{};
};

const char* StreamKernelName(StreamKernel kernel);  // "copy"

// Bytes that count per element: 16, 16, 24, 24. What a write-allocate reads besides does not count.
constexpr double StreamBytesPerElement(StreamKernel kernel) {
  return kernel == StreamKernel::kCopy || kernel == StreamKernel::kScale ? 16 : 24;
}

// Plain loops, compiled for the baseline of the architecture, with ordinary stores.
const StreamVariant& ScalarStream();

// The widest vectors this processor has, with stores that bypass the caches. nullptr: none on this architecture.
const StreamVariant* BestStream();

// Every variant with streaming stores this processor can run, the widest first. For tests and benchmarks.
size_t StreamingVariants(const StreamVariant** variants, size_t most);

}  // namespace fleetmark::agent
