#include "agent/engine/data_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "agent/engine/random.h"

namespace fleetmark::agent {

absl::StatusOr<AlignedBuffer> AlignedBuffer::Allocate(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("allocate %d bytes for I/O buffers: %s", bytes, std::strerror(errno)));
  }
  std::memset(memory, 0x5a, bytes);  // touched here, not in a timed section
  AlignedBuffer buffer;
  buffer.data_ = static_cast<uint8_t*>(memory);
  buffer.size_ = bytes;
  return buffer;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<DataPool> DataPool::Make(uint64_t seed, size_t bytes) {
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(bytes);
  if (!buffer.ok()) return buffer.status();
  Random random(seed);
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    const uint64_t word = random.Next();
    std::memcpy(buffer->data() + at, &word, sizeof word);
  }
  DataPool pool;
  pool.buffer_ = *std::move(buffer);
  pool.seed_ = seed;
  return pool;
}

}  // namespace fleetmark::agent
