#include "agent/workloads/memory/stream_kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/workloads/memory/stream_arrays.h"

namespace fleetmark::agent {
namespace {

constexpr size_t kCount = 32 * kStreamBlock;

std::vector<const StreamVariant*> AllVariants() {
  const StreamVariant* streaming[8];
  const size_t count = StreamingVariants(streaming, 8);
  std::vector<const StreamVariant*> variants(streaming, streaming + count);
  variants.push_back(&ScalarStream());
  return variants;
}

TEST(StreamKernelsTest, EveryVariantComputesExactlyTheSame) {
  for (const StreamVariant* variant : AllVariants()) {
    const StreamArrays arrays(kCount);
    ASSERT_NE(arrays.a(), nullptr);
    arrays.Reset(0, kCount);
    StreamState state;
    // All orders in which the kernels follow each other, and a hundred rounds: the values stay exact.
    for (size_t step = 0; step < 400; ++step) {
      const size_t kernel = step % kStreamKernels;
      variant->kernels[kernel](arrays.a(), arrays.b(), arrays.c(), kStreamQ, kCount);
      state.Apply(static_cast<StreamKernel>(kernel));
    }
    EXPECT_TRUE(arrays.CheckAndReset(0, kCount, state)) << variant->isa;
    EXPECT_TRUE(arrays.CheckAndReset(0, kCount, StreamState{})) << "the starting values are back";
  }
}

TEST(StreamKernelsTest, EachKernelTouchesOnlyItsResult) {
  for (const StreamVariant* variant : AllVariants()) {
    for (size_t kernel = 0; kernel < kStreamKernels; ++kernel) {
      const StreamArrays arrays(kCount);
      arrays.Reset(0, kCount);
      // Only the middle: what lies outside must stay.
      const size_t begin = 8 * kStreamBlock, count = 16 * kStreamBlock;
      variant->kernels[kernel](arrays.a() + begin, arrays.b() + begin, arrays.c() + begin, kStreamQ, count);
      StreamState state;
      state.Apply(static_cast<StreamKernel>(kernel));
      EXPECT_TRUE(arrays.CheckAndReset(begin, count, state)) << variant->isa << " " << kernel;
      EXPECT_TRUE(arrays.CheckAndReset(0, begin, StreamState{})) << variant->isa << " " << kernel;
      EXPECT_TRUE(arrays.CheckAndReset(begin + count, kCount - begin - count, StreamState{}));
    }
  }
}

TEST(StreamArraysTest, OneWrongElementIsSeen) {
  const StreamArrays arrays(kCount);
  for (double* array : {arrays.a(), arrays.b(), arrays.c()}) {
    arrays.Reset(0, kCount);
    array[kCount - 1] += 0.125;
    EXPECT_FALSE(arrays.CheckAndReset(0, kCount, StreamState{}));
  }
}

TEST(StreamArraysTest, ArraysStartAtDifferentPlacesWithinAPage) {
  const StreamArrays arrays(kCount);
  const auto offset = [](const double* p) { return reinterpret_cast<uintptr_t>(p) % 4096; };
  EXPECT_NE(offset(arrays.a()), offset(arrays.b()));
  EXPECT_NE(offset(arrays.b()), offset(arrays.c()));
  for (const double* array : {arrays.a(), arrays.b(), arrays.c()}) EXPECT_EQ(offset(array) % 64, 0u);
}

}  // namespace
}  // namespace fleetmark::agent
