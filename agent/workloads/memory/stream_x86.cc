// Streaming stores write whole cache lines, so that nothing is read only to be overwritten. Each loop fills one line of
// 64 bytes per round. Functions for newer processors carry the instruction set in their name and are called only after
// asking the processor.
#include <immintrin.h>

#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kLine = 8;  // doubles

// NAME: suffix of the functions. TARGET: function attribute. WIDTH: doubles per vector. An attribute cannot stand in
// parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define FM_STREAM_KERNELS(NAME, TARGET, VECTOR, WIDTH, LOAD, STREAM, MULTIPLY, ADD, SPREAD)                           \
  TARGET void Copy##NAME(double* __restrict a, double* __restrict, double* __restrict c, double, size_t count) {      \
    for (size_t i = 0; i < count; i += kLine)                                                                         \
      for (size_t j = i; j < i + kLine; j += WIDTH) STREAM(c + j, LOAD(a + j));                                       \
    _mm_sfence();                                                                                                     \
  }                                                                                                                   \
  TARGET void Scale##NAME(double* __restrict, double* __restrict b, double* __restrict c, double q, size_t count) {   \
    const VECTOR factor = SPREAD(q);                                                                                  \
    for (size_t i = 0; i < count; i += kLine)                                                                         \
      for (size_t j = i; j < i + kLine; j += WIDTH) STREAM(b + j, MULTIPLY(factor, LOAD(c + j)));                     \
    _mm_sfence();                                                                                                     \
  }                                                                                                                   \
  TARGET void Add##NAME(double* __restrict a, double* __restrict b, double* __restrict c, double, size_t count) {     \
    for (size_t i = 0; i < count; i += kLine)                                                                         \
      for (size_t j = i; j < i + kLine; j += WIDTH) STREAM(c + j, ADD(LOAD(a + j), LOAD(b + j)));                     \
    _mm_sfence();                                                                                                     \
  }                                                                                                                   \
  TARGET void Triad##NAME(double* __restrict a, double* __restrict b, double* __restrict c, double q, size_t count) { \
    const VECTOR factor = SPREAD(q);                                                                                  \
    for (size_t i = 0; i < count; i += kLine)                                                                         \
      for (size_t j = i; j < i + kLine; j += WIDTH) STREAM(a + j, ADD(LOAD(b + j), MULTIPLY(factor, LOAD(c + j))));   \
    _mm_sfence();                                                                                                     \
  }

FM_STREAM_KERNELS(StreamingSse2, , __m128d, 2, _mm_load_pd, _mm_stream_pd, _mm_mul_pd, _mm_add_pd, _mm_set1_pd)
FM_STREAM_KERNELS(StreamingAvx2, __attribute__((target("avx2"))), __m256d, 4, _mm256_load_pd, _mm256_stream_pd,
                  _mm256_mul_pd, _mm256_add_pd, _mm256_set1_pd)
FM_STREAM_KERNELS(StreamingAvx512, __attribute__((target("avx512f"))), __m512d, 8, _mm512_load_pd, _mm512_stream_pd,
                  _mm512_mul_pd, _mm512_add_pd, _mm512_set1_pd)
// NOLINTEND(bugprone-macro-parentheses)
#undef FM_STREAM_KERNELS

}  // namespace

size_t StreamingVariants(const StreamVariant** variants, size_t most) {
  static constexpr StreamVariant kSse2{"SSE2 with streaming stores",
                                       {CopyStreamingSse2, ScaleStreamingSse2, AddStreamingSse2, TriadStreamingSse2}};
  static constexpr StreamVariant kAvx2{"AVX2 with streaming stores",
                                       {CopyStreamingAvx2, ScaleStreamingAvx2, AddStreamingAvx2, TriadStreamingAvx2}};
  static constexpr StreamVariant kAvx512{
      "AVX-512 with streaming stores",
      {CopyStreamingAvx512, ScaleStreamingAvx512, AddStreamingAvx512, TriadStreamingAvx512}};
  size_t count = 0;
  const auto offer = [&](bool supported, const StreamVariant& variant) {
    if (supported && count < most) variants[count++] = &variant;
  };
  // These ask for the system's support of the registers, too.
  offer(__builtin_cpu_supports("avx512f") != 0, kAvx512);
  offer(__builtin_cpu_supports("avx2") != 0, kAvx2);
  offer(true, kSse2);
  return count;
}

}  // namespace fleetmark::agent
