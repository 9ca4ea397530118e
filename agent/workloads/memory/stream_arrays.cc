#include "agent/workloads/memory/stream_arrays.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace fleetmark::agent {
namespace {

constexpr size_t kHugePage = 2u << 20;
// Arrays that start at the same place within a page collide in the caches and in the store buffer's address check.
constexpr size_t kSkewBytes = 1344;  // a third of a page, in whole lines

constexpr double X(size_t i) { return 1 + static_cast<double>(i % 8) / 8; }

size_t RoundUp(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

}  // namespace

void StreamState::Apply(StreamKernel kernel) {
  switch (kernel) {
    case StreamKernel::kCopy:
      c = a;
      break;
    case StreamKernel::kScale:
      b = kStreamQ * c;
      break;
    case StreamKernel::kAdd:
      c = a + b;
      break;
    case StreamKernel::kTriad:
      a = b + kStreamQ * c;
      break;
  }
}

StreamArrays::StreamArrays(size_t count) {
  const size_t one = RoundUp(count * sizeof(double) + 2 * kSkewBytes);
  mapped_bytes_ = 3 * one + kHugePage;
  mapping_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    mapped_bytes_ = 0;
    return;
  }
#ifdef MADV_HUGEPAGE
  // So that the answer does not depend on a distribution's default; without huge pages it is only slower.
  madvise(mapping_, mapped_bytes_, MADV_HUGEPAGE);
#endif
  const size_t lead = RoundUp(reinterpret_cast<uintptr_t>(mapping_)) - reinterpret_cast<uintptr_t>(mapping_);
  char* const first = static_cast<char*>(mapping_) + lead;
  a_ = reinterpret_cast<double*>(first);
  b_ = reinterpret_cast<double*>(first + one + kSkewBytes);
  c_ = reinterpret_cast<double*>(first + 2 * one + 2 * kSkewBytes);
  count_ = count;
}

StreamArrays::StreamArrays(StreamArrays&& other) noexcept { *this = std::move(other); }

StreamArrays& StreamArrays::operator=(StreamArrays&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(count_, other.count_);
  std::swap(a_, other.a_);
  std::swap(b_, other.b_);
  std::swap(c_, other.c_);
  return *this;
}

StreamArrays::~StreamArrays() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

void StreamArrays::Reset(size_t begin, size_t count) const {
  const StreamState start;
  for (size_t i = begin; i < begin + count; ++i) {
    a_[i] = start.a * X(i);
    b_[i] = start.b * X(i);
    c_[i] = start.c * X(i);
  }
}

bool StreamArrays::CheckAndReset(size_t begin, size_t count, const StreamState& state) const {
  const StreamState start;
  unsigned wrong = 0;
  for (size_t i = begin; i < begin + count; ++i) {
    const double x = X(i);
    wrong |= static_cast<unsigned>(a_[i] != state.a * x) | static_cast<unsigned>(b_[i] != state.b * x) |
             static_cast<unsigned>(c_[i] != state.c * x);
    a_[i] = start.a * x;
    b_[i] = start.b * x;
    c_[i] = start.c * x;
  }
  return wrong == 0;
}

}  // namespace fleetmark::agent
