// The kernels of memory.stream against plain C, in alternating pairs on the same arrays.
//
//   bench_stream [pairs=21] [megabytes=256]
//
// Prints one line per pair, rates in bytes/s:  pair <name> <ours> <reference>
//   stream_<kernel>_scalar   our baseline kernel against the same C with the same flags
//   stream_<kernel>_best     our streaming stores against C for this processor (-O3 -march=native)
//   stream_triad_aa          that C against itself
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "agent/platform/machine.h"
#include "agent/platform/pin_thread.h"
#include "agent/workloads/memory/stream_arrays.h"
#include "agent/workloads/memory/stream_kernels.h"

extern "C" {
void stream_copy_same(const double* a, double* c, size_t count);
void stream_scale_same(double* b, const double* c, double q, size_t count);
void stream_add_same(const double* a, const double* b, double* c, size_t count);
void stream_triad_same(double* a, const double* b, const double* c, double q, size_t count);
void stream_copy_native(const double* a, double* c, size_t count);
void stream_scale_native(double* b, const double* c, double q, size_t count);
void stream_add_native(const double* a, const double* b, double* c, size_t count);
void stream_triad_native(double* a, const double* b, const double* c, double q, size_t count);
}

namespace fleetmark::agent {
namespace {

constexpr unsigned kPassesPerMeasurement = 5;  // the best of them: an interruption hits one, not all

constexpr StreamVariant kSame{
    "plain C, same flags",
    {[](double* a, double*, double* c, double, size_t n) { stream_copy_same(a, c, n); },
     [](double*, double* b, double* c, double q, size_t n) { stream_scale_same(b, c, q, n); },
     [](double* a, double* b, double* c, double, size_t n) { stream_add_same(a, b, c, n); },
     [](double* a, double* b, double* c, double q, size_t n) { stream_triad_same(a, b, c, q, n); }}};
constexpr StreamVariant kNative{
    "plain C, -O3 -march=native",
    {[](double* a, double*, double* c, double, size_t n) { stream_copy_native(a, c, n); },
     [](double*, double* b, double* c, double q, size_t n) { stream_scale_native(b, c, q, n); },
     [](double* a, double* b, double* c, double, size_t n) { stream_add_native(a, b, c, n); },
     [](double* a, double* b, double* c, double q, size_t n) { stream_triad_native(a, b, c, q, n); }}};

double Rate(const StreamArrays& arrays, const StreamVariant& variant, StreamKernel kernel) {
  const StreamFunction function = variant.kernels[static_cast<size_t>(kernel)];
  double best = 0;
  for (unsigned pass = 0; pass < kPassesPerMeasurement; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    function(arrays.a(), arrays.b(), arrays.c(), 0.5, arrays.count());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, StreamBytesPerElement(kernel) * static_cast<double>(arrays.count()) / seconds);
  }
  return best;
}

void Pair(const StreamArrays& arrays, const std::string& name, const StreamVariant& ours,
          const StreamVariant& reference, StreamKernel kernel, unsigned pair) {
  double rates[2];
  // Who goes first alternates, so that neither always inherits the other's clock speed.
  for (unsigned turn = 0; turn < 2; ++turn) {
    const unsigned which = (turn + pair) % 2;
    rates[which] = Rate(arrays, which == 0 ? ours : reference, kernel);
  }
  std::fputs(absl::StrFormat("pair %s %.0f %.0f\n", name, rates[0], rates[1]).c_str(), stdout);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  unsigned pairs = 21;
  unsigned megabytes = 256;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    unsigned* const value = option.rfind("pairs=", 0) == 0       ? &pairs
                            : option.rfind("megabytes=", 0) == 0 ? &megabytes
                                                                 : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(option.substr(option.find('=') + 1), value) || *value == 0 ||
        *value > 100'000) {
      std::fprintf(stderr, "usage: bench_stream [pairs=21] [megabytes=256]\n");
      return 2;
    }
  }
  PinThisThread(ReadUsableCpus().cpus.back());
  const StreamArrays arrays(megabytes * (size_t{1} << 20) / sizeof(double) / kStreamBlock * kStreamBlock);
  if (arrays.a() == nullptr) {
    std::fprintf(stderr, "bench_stream: no memory for three arrays of %u MB\n", megabytes);
    return 1;
  }
  arrays.Reset(0, arrays.count());
  const StreamVariant* best = BestStream();
  if (best == nullptr) std::fprintf(stderr, "bench_stream: no streaming stores on this architecture\n");
  for (unsigned pair = 0; pair < pairs; ++pair) {
    for (const StreamKernel kernel :
         {StreamKernel::kCopy, StreamKernel::kScale, StreamKernel::kAdd, StreamKernel::kTriad}) {
      const std::string name = std::string("stream_") + StreamKernelName(kernel);
      Pair(arrays, name + "_scalar", ScalarStream(), kSame, kernel, pair);
      if (best != nullptr) Pair(arrays, name + "_best", *best, kNative, kernel, pair);
    }
    Pair(arrays, "stream_triad_aa", kNative, kNative, StreamKernel::kTriad, pair);
  }
  return 0;
}

}  // namespace
}  // namespace fleetmark::agent

int main(int argc, char** argv) { return fleetmark::agent::Main(argc, argv); }
